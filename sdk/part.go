package sdk

import (
	"fmt"
	"slices"

	"github.com/psbench/psbench/internal/settings"
)

// Part is one implementation that a plugin provides. Make one with NewServer,
// NewElementwiseServer, NewParameterServer, NewTableServer, NewTrainer, NewParameterTrainer,
// NewTableTrainer, NewHook, NewCriterion, NewData, NewModel or InTrainer.
type Part struct {
	Kind     Kind
	Key      string
	Settings []Setting
	// Serves is what a server serves, Needs what a trainer needs of its servers, and Links
	// are those that a hook uses.
	Serves Service
	Needs  Service
	Links  []Link
	// Carries says that a hook hands every bucket to its links and touches none of its values, which
	// may lie in the memory of a device then.
	Carries bool
	// Timing says when an ElementwiseServer combines gradients; 0 of all other parts.
	Timing Timing
	// Computes names what an ElementwiseServer works out, for its metric: "average" gives
	// "average computation". It is the key unless the plugin sets it to something else.
	Computes string
	// Answers is what a hook leaves, or a server of gradients answers, as far as it declares it; see Answering.
	Answers Answers
	// Adds says that Combine of an ElementwiseServer adds; see Adding.
	Adds bool
	// Asynchronous says that a server answers before all of its trainers have come; see the
	// function of that name. Quorum names the setting that decides it; see WithQuorum.
	Asynchronous bool
	Quorum       string
	// RanksDiffer says that trainers need not end with equal parameters; see the function of that name.
	RanksDiffer bool
	// Targets is what a criterion takes as targets; see WithTargets.
	Targets TargetKind
	// Stochastic says that a model draws random numbers, and SmallestBatch how many samples it needs, 0
	// for 1; see the functions of these names.
	Stochastic    bool
	SmallestBatch int
	// Protocol says that the part is called by the frames of docs/protocol.md, in a process of its
	// own beside one of psbench: parts in other languages are, parts in Go are not.
	Protocol bool

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

// Around is the part built in another way: build gets what the part is to be built in, an
// environment of its kind, and what builds p itself, so that it may change the one and put
// something around the other.
func (p Part) Around(build func(env any, inner func(env any) (any, error)) (any, error)) Part {
	inner := p.build
	p.build = func(settings []byte, env any) (any, error) {
		return build(env, func(env any) (any, error) { return inner(settings, env) })
	}
	return p
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

// mistake panics, since what is declared wrongly is a mistake in the plugin's source.
func mistake(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// NewServer declares a server of gradients. defaults is a struct of settings that holds
// their default values; its fields carry json names and doc tags.
func NewServer[S any](key string, defaults S, build func(S, ServerEnv) (Server, error)) Part {
	return newServer(key, ServiceGradients, defaults, build)
}

// NewElementwiseServer declares a server of gradients that the host runs on blocks of them,
// and measures; see NewServer for defaults.
func NewElementwiseServer[S any](
	key string, timing Timing, defaults S, build func(S, ServerEnv) (ElementwiseServer, error),
) Part {
	part := newServer(key, ServiceGradients, defaults, build)
	if timing != OnArrival && timing != OnLastArrival {
		mistake("server %s has timing %d, which is neither OnArrival nor OnLastArrival", key, timing)
	}
	part.Timing, part.Computes = timing, key
	return part
}

// Adding declares that Combine of an elementwise server does nothing but add, so that the sum of some trainers'
// gradients can be pushed in their place: psbench adds gradients of a host up itself where --aggregate says so.
// ServerEnv.Trainers counts all trainers then, too, and Combine gets fewer gradients than that.
func Adding(server Part) Part {
	if server.Timing == 0 {
		mistake("%s %s cannot be declared to add, which only an ElementwiseServer can", server.Kind, server.Key)
	}
	server.Adds = true
	return server
}

// NewParameterServer declares a server of parameters, which gets the run's model and
// answers gradients with updated parameters; see NewServer for defaults.
func NewParameterServer[S any](key string, defaults S, build func(S, ServerEnv) (Server, error)) Part {
	return newServer(key, ServiceParameters, defaults, build)
}

// Asynchronous declares that a server, of gradients or of parameters, answers before all of its
// trainers have pushed a batch, or does not wait for them at all. It then connects none of them:
// they may have unequally many batches, end a pass of some seconds each by its own clock, and a
// batch that one pushes others may never push. A server that waits for some of the trainers, as a
// stale-synchronous one does for the slowest, is an Expecter, which knows who has no batches
// left.
func Asynchronous(server Part) Part {
	if server.Kind != KindServer || server.Serves == ServiceTables || server.Timing != 0 {
		mistake("%s %s cannot be asynchronous, which only a Server can", server.Kind, server.Key)
	}
	server.Asynchronous = true
	return server
}

// WithQuorum declares that a server waits for as many of its trainers as a setting says, 0 for all:
// where that is fewer than it has, it is asynchronous.
func WithQuorum(setting string, server Part) Part {
	if !slices.ContainsFunc(server.Settings, func(s Setting) bool { return s.Name == setting && s.Type == "integer" }) {
		mistake("%s %s has no setting %s, an integer", server.Kind, server.Key, setting)
	}
	Asynchronous(server) // which it may be
	server.Quorum = setting
	return server
}

// RanksDiffer declares that a hook, server, trainer or model may leave the trainers with unequal parameters: gossip
// does, and local steps between averages. Without it psbench warns of trainers that exchange gradients and end a pass
// with unequal parameters. A hook without links and an asynchronous server need not be declared so.
func RanksDiffer(part Part) Part {
	switch part.Kind {
	case KindHook, KindServer, KindTrainer, KindModel:
	default:
		mistake("%s %s has no part in whether trainers end equal", part.Kind, part.Key)
	}
	part.RanksDiffer = true
	return part
}

// NewTableServer declares a server of a table; see NewServer for defaults.
func NewTableServer[S any](key string, defaults S, build func(S, TableEnv) (TableServer, error)) Part {
	return newServer(key, ServiceTables, defaults, build)
}

func newServer[S, E, P any](key string, serves Service, defaults S, build func(S, E) (P, error)) Part {
	part := newPart(KindServer, key, defaults, build)
	part.Serves = serves
	return part
}

// NewTrainer declares a trainer that has gradients reduced, by servers of gradients if
// there are any; see NewServer for defaults.
func NewTrainer[S any](key string, defaults S, build func(S, TrainerEnv) (Trainer, error)) Part {
	return newTrainer(key, ServiceGradients, defaults, build)
}

// NewTableTrainer declares a trainer that looks rows up in servers of tables, an
// InputPlanner; see NewServer for defaults.
func NewTableTrainer[S any](key string, defaults S, build func(S, TrainerEnv) (Trainer, error)) Part {
	return newTrainer(key, ServiceTables, defaults, build)
}

// NewParameterTrainer declares a trainer that gets updated parameters from servers of
// parameters; see NewServer for defaults.
func NewParameterTrainer[S any](key string, defaults S, build func(S, TrainerEnv) (Trainer, error)) Part {
	return newTrainer(key, ServiceParameters, defaults, build)
}

func newTrainer[S any](key string, needs Service, defaults S, build func(S, TrainerEnv) (Trainer, error)) Part {
	part := newPart(KindTrainer, key, defaults, build)
	part.Needs = needs
	return part
}

// NewHook declares a hook and the links that it uses, none for one that does not
// communicate: only those are joined, and they decide which trainers are connected and so
// run equally many batches. See NewServer for defaults.
func NewHook[S any](key string, defaults S, build func(S, HookEnv) (Hook, error), links ...Link) Part {
	part := newPart(KindHook, key, defaults, build)
	part.Links = links
	return part
}

// Carrying declares that a hook hands every bucket to its links and touches none of its values.
func Carrying(hook Part) Part {
	if hook.Kind != KindHook || len(hook.Links) == 0 {
		mistake("%s %s carries nothing: only a hook with links can", hook.Kind, hook.Key)
	}
	hook.Carries = true
	return hook
}

// NewCriterion declares a criterion; see NewServer for defaults.
func NewCriterion[S any](key string, defaults S, build func(S, CriterionEnv) (Criterion, error)) Part {
	return newPart(KindCriterion, key, defaults, build)
}

// WithTargets declares what a criterion, which is a FloatCriterion, takes as targets; one that is not
// declared takes classes.
func WithTargets(kind TargetKind, criterion Part) Part {
	if criterion.Kind != KindCriterion || !slices.Contains(TargetKinds, kind) {
		mistake("%s %s cannot take %q as targets, which is for criteria and one of %q", criterion.Kind, criterion.Key,
			kind, TargetKinds)
	}
	criterion.Targets = kind
	return criterion
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

// Stochastic declares that a model draws random numbers, as dropout does: the same batch has other
// outputs and gradients each time. What it draws must begin anew with Initialize. The points of its
// contract are tried from there.
func Stochastic(model Part) Part {
	if model.Kind != KindModel {
		mistake("%s %s cannot be stochastic, which only a Model can", model.Kind, model.Key)
	}
	model.Stochastic = true
	return model
}

// SmallestBatch declares how many samples the smallest batch has that a model can train on, such as 2
// with batch normalization. A smaller --batch-size is refused. The data's last batch may still be
// smaller.
func SmallestBatch(samples int, model Part) Part {
	if model.Kind != KindModel || samples < 1 {
		mistake("%s %s cannot have a smallest batch of %d: only a Model can, of 1 sample or more", model.Kind,
			model.Key, samples)
	}
	model.SmallestBatch = samples
	return model
}
