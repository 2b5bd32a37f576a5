package sweep

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

// RefusedError reports that a part refused the settings of a cell.
type RefusedError struct{ err error }

func (e *RefusedError) Error() string { return e.err.Error() }
func (e *RefusedError) Unwrap() error { return e.err }

// makeParts builds psbench's own parts of an experiment so that they check their settings. Without this check, every
// run of the cell would fail hours later. makeParts leaves out parts that work only within a run, and parts of plugins,
// which run in their own processes.
func (b *maker) makeParts(ctx context.Context, exp *config.Experiment) error {
	for _, kind := range []sdk.Kind{sdk.KindTrainer, sdk.KindServer, sdk.KindData, sdk.KindModel} {
		part, chosen := exp.Parts[kind]
		if setting, what := part.OneTime(); kind == sdk.KindData && what != "" {
			return &RefusedError{
				fmt.Errorf("%s %s: setting %s is %s, which only one run could read: write the samples to a file first",
					kind, part.Key, setting, what),
			}
		}
		if !chosen || part.Plugin.Name != registry.Builtin {
			continue
		}
		env := b.envOf(kind, exp)
		if env == nil {
			continue
		}
		key := fmt.Sprintf("%s %s %s %+v", kind, part.Key, part.Settings, env)
		err, made := b.made[key]
		if !made {
			err = b.makePart(ctx, kind, part, env)
			b.made[key] = err
		}
		if err != nil {
			return &RefusedError{fmt.Errorf("%s %s: %w", kind, part.Key, err)}
		}
	}
	return nil
}

// envOf returns the environment for building a part, or nil if the part needs a real run. It contains only those values
// of the cell that parts use, because parts with equal settings and environments are built only once.
func (b *maker) envOf(kind sdk.Kind, exp *config.Experiment) any {
	switch kind {
	case sdk.KindTrainer:
		return sdk.TrainerEnv{Server: exp.Parts[sdk.KindServer].Key, Maps: exp.InTrainer}
	case sdk.KindServer:
		if exp.Service == sdk.ServiceTables {
			return sdk.TableEnv{Recorder: b.recorder, Engine: engine.Host}
		}
	case sdk.KindData:
		return sdk.DataEnv{Trainers: len(exp.World.TrainerRanks()), BatchSize: exp.BatchSize, Recorder: b.recorder}
	case sdk.KindModel:
		return sdk.ModelEnv{MaxBatch: exp.BatchSize, Recorder: b.recorder, Engine: engine.Host}
	}
	return nil
}

// makePart builds a part and closes it.
func (b *maker) makePart(ctx context.Context, kind sdk.Kind, chosen config.Part, env any) error {
	parts, err := b.catalogue(ctx, chosen.Plugin)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(parts, func(p sdk.Part) bool { return p.Kind == kind && p.Key == chosen.Key })
	if i < 0 {
		return nil // config.Resolve reports unknown parts
	}
	made, err := parts[i].Build(chosen.Settings, env)
	if closer, ok := made.(io.Closer); ok && err == nil {
		return closer.Close()
	}
	return err
}

// hopeless reports whether the cell has a value on some axis that no running cell has.
func hopeless(c Cell, used []map[string]bool) bool {
	for axis, value := range c.Values {
		if !used[axis][value] {
			return true
		}
	}
	return false
}

// usedValues returns the values of running cells, by axis.
func (p *Plan) usedValues() []map[string]bool {
	used := make([]map[string]bool, len(p.Axes))
	for axis := range used {
		used[axis] = map[string]bool{}
	}
	for _, i := range p.Running() {
		for axis, value := range p.Cells[i].Values {
			used[axis][value] = true
		}
	}
	return used
}
