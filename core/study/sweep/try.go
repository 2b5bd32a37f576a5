package sweep

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/sdk"
)

// patience is the longest duration of a trial. It exceeds the default timeout for a process, so that the error names a
// process that hangs.
const patience = 2 * time.Minute

// try starts the experiment of a cell to find out what no check can: Do parts of plugins, and servers that hold the
// model, accept their settings? Does the data fit the model? A question that an earlier cell answered is not asked
// again, so each distinct value needs one trial.
func (b *maker) try(ctx context.Context, exp *config.Experiment) error {
	if b.Try == nil {
		return nil
	}
	here := fmt.Sprint(exp.BatchSize, len(exp.World.TrainerRanks()), exp.World.Master(), exp.Fabric.Name)
	var open []string
	for _, question := range questions(exp) {
		if !b.tried[question] {
			open = append(open, question)
		}
	}
	all := strings.Join(open, "\n") + here // a trial may also fail because of the world
	if len(open) == 0 || b.failed[all] != nil {
		return b.failed[all]
	}
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := b.Try(limited, exp)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && errors.Is(limited.Err(), context.DeadlineExceeded): // e.g. because the data takes long to read
		b.notes[fmt.Sprintf(
			"psbench could not check its settings and its data within %v",
			patience)]++
	case err != nil:
		err = &RefusedError{err}
		b.failed[all] = err
		return err
	}
	for _, question := range open {
		b.tried[question] = true
	}
	return nil
}

// questions lists the questions that only a start of the experiment answers.
func questions(exp *config.Experiment) (list []string) {
	of := func(kind sdk.Kind) string {
		p := exp.Parts[kind]
		return fmt.Sprintf("%s %q of %q %q %s %s", kind, p.Key, p.Plugin.Name, p.Plugin.Command, p.Plugin.SHA256,
			p.Settings)
	}
	foreign := func(kind sdk.Kind) bool {
		name := exp.Parts[kind].Plugin.Name
		return name != registry.Builtin && name != ""
	}
	for _, kind := range slices.Sorted(maps.Keys(exp.Parts)) {
		if foreign(kind) || kind == sdk.KindServer && exp.Service == sdk.ServiceParameters {
			list = append(list, of(kind))
		}
	}
	fits := []sdk.Kind{sdk.KindTrainer, sdk.KindModel, sdk.KindData, sdk.KindCriterion}
	if !slices.ContainsFunc(fits, foreign) && !slices.ContainsFunc(exp.Values, chosen) {
		return list // psbench's own defaults fit together
	}
	words := make([]string, len(fits))
	for i, kind := range fits {
		words[i] = of(kind)
	}
	return append(list, strings.Join(words, ", "))
}

// chosen reports whether the user set this value. Only values that select a trainer, model, data or criterion count,
// and settings of a model, data or criterion.
func chosen(v result.Value) bool {
	if strings.HasPrefix(v.Origin, "default") || strings.HasPrefix(v.Origin, "derived: ") {
		return false
	}
	kind, _, _ := strings.Cut(v.Key, ".")
	return slices.Contains([]string{"model", "data", "create_criterion", "criterion", "trainer", "model_config_path",
		"data_config_path"}, kind) &&
		!strings.HasPrefix(v.Key, "trainer.")
}
