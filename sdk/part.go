package sdk

import (
	"fmt"

	"github.com/psbench/psbench/internal/settings"
)

// Part is one implementation that a plugin provides. Make one with NewServer,
// NewElementwiseServer, NewTableServer, NewTrainer, NewHook, NewCriterion, NewData, NewModel or
// InTrainer.
type Part struct {
	Kind     Kind
	Key      string
	Settings []Setting
	// Tables says that it is a server that holds a table.
	Tables bool
	// Timing says when an ElementwiseServer combines gradients; 0 of all other parts.
	Timing Timing

	build func(settings []byte, env any) (any, error)
}

// Build makes the part from settings, a JSON object, and the environment of its kind
// (ServerEnv for a Server and so on): psbench does, and tests may.
func (p Part) Build(settings []byte, env any) (any, error) {
	if p.build == nil {
		return nil, fmt.Errorf("%s %s is compiled into its trainer and cannot be built by itself", p.Kind, p.Key)
	}
	return p.build(settings, env)
}

// InTrainer says whether the part belongs to its trainer and is not built by itself.
func (p Part) InTrainer() bool { return p.build == nil }

func newPart[S, E, P any](kind Kind, key string, defaults S, build func(S, E) (P, error)) Part {
	return Part{
		Kind: kind, Key: key, Settings: describeSettings(defaults),
		build: func(raw []byte, env any) (any, error) {
			values := cloneSettings(defaults)
			if err := settings.Decode(raw, &values); err != nil {
				return nil, err
			}
			return build(values, env.(E))
		},
	}
}

// NewServer declares a server. defaults is a struct of settings that holds
// their default values; its fields carry json names and doc tags.
func NewServer[S any](key string, defaults S, build func(S, ServerEnv) (Server, error)) Part {
	return newPart(KindServer, key, defaults, build)
}

// NewElementwiseServer declares a server that the host runs on blocks of gradients; see
// NewServer for defaults.
func NewElementwiseServer[S any](key string, timing Timing, defaults S, build func(S, ServerEnv) (ElementwiseServer, error)) Part {
	part := newPart(KindServer, key, defaults, build)
	part.Timing = timing
	return part
}

// NewTrainer declares a trainer; see NewServer for defaults.
func NewTrainer[S any](key string, defaults S, build func(S, TrainerEnv) (Trainer, error)) Part {
	return newPart(KindTrainer, key, defaults, build)
}

// NewHook declares a hook; see NewServer for defaults.
func NewHook[S any](key string, defaults S, build func(S, HookEnv) (Hook, error)) Part {
	return newPart(KindHook, key, defaults, build)
}

// NewCriterion declares a criterion; see NewServer for defaults.
func NewCriterion[S any](key string, defaults S, build func(S, CriterionEnv) (Criterion, error)) Part {
	return newPart(KindCriterion, key, defaults, build)
}

// NewData declares a data part; see NewServer for defaults.
func NewData[S any](key string, defaults S, build func(S, DataEnv) (Data, error)) Part {
	return newPart(KindData, key, defaults, build)
}

// NewModel declares a model; see NewServer for defaults.
func NewModel[S any](key string, defaults S, build func(S, ModelEnv) (Model, error)) Part {
	return newPart(KindModel, key, defaults, build)
}

// InTrainer declares a key of one of the in-trainer kinds, which the trainer of
// the same plugin resolves itself.
func InTrainer(kind Kind, key string) Part { return Part{Kind: kind, Key: key} }
