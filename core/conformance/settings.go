package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/psbench/psbench/core/config"
	"github.com/psbench/psbench/core/launch"
	"github.com/psbench/psbench/core/monitor"
	"github.com/psbench/psbench/core/result"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/plugintest/points"
)

// settings has the part built with settings that it must refuse. psbench refuses most of them
// before a run, so they are put into an experiment that is resolved.
func (c *Check) settings(ctx context.Context, part sdk.Part) error {
	type setting struct {
		name  string
		value any
	}
	wrong := []setting{{"there_is_no_such_setting", 1}}
	for _, s := range part.Settings {
		wrong = append(wrong, setting{s.Name, map[string]string{"of": "no type that it has"}})
	}
	for _, refused := range c.Refused {
		name, text, ok := strings.Cut(refused, "=")
		kind, name, dotted := strings.Cut(name, ".")
		if !ok || !dotted || !slices.ContainsFunc(ranked, func(k sdk.Kind) bool { return string(k) == kind }) {
			return &configError{fmt.Errorf("--refuses is %s but must be kind.setting=value, as in server.limit=-1", quote.String(refused))}
		}
		if kind != string(part.Kind) {
			continue
		}
		var value any
		if json.Unmarshal([]byte(text), &value) != nil {
			value = text
		}
		wrong = append(wrong, setting{name, value})
	}
	var config *configError
	switch _, err := c.smallest(ctx, part); {
	case errors.Is(err, monitor.ErrInterrupted), errors.As(err, &config):
		return err
	case err != nil: // which is the business of another point
		return errUnseen("a run with the right settings fails, too")
	}
	for _, w := range wrong {
		if err := c.refuses(ctx, part, w.name, w.value); err != nil {
			return err
		}
	}
	return nil
}

// refuses is an error unless a run fails in which a setting of the part has a value. The death of a
// process is no refusal.
func (c *Check) refuses(ctx context.Context, part sdk.Part, name string, value any) error {
	o, err := c.smallestOptions(part)
	if err != nil {
		return err
	}
	var shown []byte
	_, err = c.runWith(ctx, o, func(e *config.Experiment) {
		p := e.Parts[part.Kind]
		settings := map[string]any{}
		_ = json.Unmarshal(p.Settings, &settings) // psbench has written them
		settings[name] = value
		p.Settings, _ = json.Marshal(settings)
		shown, _ = json.Marshal(map[string]any{name: value})
		e.Parts[part.Kind] = p
	})
	var died *launch.DeathError
	switch {
	case err == nil:
		return fmt.Errorf("it is built with the settings %s", shown)
	case errors.Is(err, monitor.ErrInterrupted):
		return err
	case errors.As(err, &died):
		return fmt.Errorf("it does not refuse the settings %s: %w", shown, err)
	}
	return nil
}

// smallest is the smallest run that has the part.
func (c *Check) smallest(ctx context.Context, part sdk.Part) (*result.Result, error) {
	if part.Kind == sdk.KindData {
		return c.read(ctx, part, alone)
	}
	o, err := c.smallestOptions(part)
	if err != nil {
		return nil, err
	}
	return c.run(ctx, o)
}

func (c *Check) smallestOptions(part sdk.Part) (options, error) {
	o, err := c.base(part)
	if err != nil || part.Kind == sdk.KindTrainer {
		return o, err
	}
	if part.Kind == sdk.KindData {
		if c.inputs != nil {
			o.set(sdk.KindModel, taking(c.inputs))
		}
		return o, nil
	}
	list := c.pointsOf(part)
	first := slices.IndexFunc(list, points.Point.InRun)
	o.set(sdk.KindTrainer, c.trying(part, list[first].Name))
	return o, nil
}
