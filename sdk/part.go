package sdk

import (
	"fmt"
	"slices"

	"github.com/psbench/psbench/internal/settings"
)

// Part is one implementation that a plugin provides. Make one with NewServer,
// NewElementwiseServer, NewParameterServer, NewTableServer, NewTrainer, NewParameterTrainer,
// NewTableTrainer, NewHook, NewPlannedHook, NewCriterion, NewData, NewModel or InTrainer.
type Part struct {
	Kind     Kind
	Key      string
	Settings []Setting
	// Serves is the service that a server offers, and Needs is the service that a trainer needs. Links
	// are the links that a hook uses.
	Serves Service
	Needs  Service
	Links  []Link
	// Carries reports that a hook only passes buckets to its links and accesses no values. So the
	// buckets may lie in the memory of a device. See Carrying.
	Carries bool
	// Timing says when an ElementwiseServer combines gradients. Timing is 0 for all other parts.
	Timing Timing
	// Computes names the computation of an ElementwiseServer in its metric: "average" gives "average
	// computation". If Computes is empty, the part's key is used.
	Computes string
	// Plans reports that a hook plans its traffic; see NewPlannedHook.
	Plans bool
	// Answers declares the result of a hook or of a server of gradients; see Answering.
	Answers Answers
	// Adds reports that Combine of an ElementwiseServer only adds; see Adding.
	Adds bool
	// Asynchronous reports that a server may answer a trainer before all trainers have pushed; see the
	// function Asynchronous. Quorum names the setting that decides whether the server does; see
	// WithQuorum.
	Asynchronous bool
	Quorum       string
	// RanksDiffer reports that trainers may end with unequal parameters; see the function RanksDiffer.
	RanksDiffer bool
	// Targets is the kind of targets that a criterion takes; see WithTargets.
	Targets TargetKind
	// Stochastic reports that a model draws random numbers. SmallestBatch is the minimum number of
	// samples in a batch; 0 means 1. See the functions Stochastic and SmallestBatch.
	Stochastic    bool
	SmallestBatch int
	// Protocol reports that psbench calls the part by the frames of docs/protocol.md, in a companion
	// process. Protocol is set for parts in other languages, not for parts in Go.
	Protocol bool

	build func(settings []byte, env any) (any, error)
	plan  func(settings []byte, env TrafficEnv) (Traffic, error)
}

// Plan returns the traffic plan of a hook that Plans. settings is a JSON object. psbench calls Plan,
// and tests may call it too.
func (p Part) Plan(settings []byte, env TrafficEnv) (Traffic, error) {
	if p.plan == nil {
		return nil, fmt.Errorf("%s %s plans no traffic", p.Kind, p.Key)
	}
	return p.plan(settings, env)
}

// Build builds the part. settings is a JSON object, and env is the environment of the part's kind,
// such as ServerEnv for a Server. psbench calls Build, and tests may call it too. A part of an
// in-trainer kind cannot be built.
func (p Part) Build(settings []byte, env any) (any, error) {
	if p.build == nil {
		return nil, fmt.Errorf("%s %s is compiled into its trainer and cannot be built alone", p.Kind, p.Key)
	}
	return p.build(settings, env)
}

// Around returns a copy of p that is built by the function build. The function build gets the
// environment of the part's kind, and inner, which builds p itself. So the function build can
// change the environment and wrap the part.
func (p Part) Around(build func(env any, inner func(env any) (any, error)) (any, error)) Part {
	inner := p.build
	p.build = func(settings []byte, env any) (any, error) {
		return build(env, func(env any) (any, error) { return inner(settings, env) })
	}
	return p
}

// InTrainer reports whether the part is of an in-trainer kind, which Build cannot make.
func (p Part) InTrainer() bool { return p.build == nil }

func newPart[S, E, P any](kind Kind, key string, defaults S, build func(S, E) (P, error)) Part {
	return Part{
		Kind: kind, Key: key, Settings: describeSettings(defaults),
		build: func(raw []byte, env any) (any, error) {
			values, err := decoded(raw, defaults)
			if err != nil {
				return nil, err
			}
			return build(values, env.(E))
		},
	}
}

// decoded returns a copy of defaults with the values of a JSON object.
func decoded[S any](raw []byte, defaults S) (S, error) {
	values := cloneSettings(defaults)
	return values, settings.Decode(raw, &values)
}

// mistake panics, because a wrong declaration is a bug in the plugin's source.
func mistake(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// NewServer declares a server of gradients. defaults is a struct with the server's settings and
// their default values. The json tags of its fields name the settings; the doc tags describe them.
func NewServer[S any](key string, defaults S, build func(S, ServerEnv) (Server, error)) Part {
	return newServer(key, ServiceGradients, defaults, build)
}

// NewElementwiseServer declares a server of gradients whose methods the host calls on blocks of
// gradients and measures. See NewServer for defaults.
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

// Adding declares that Combine of an elementwise server only adds. With --aggregate, psbench then
// sums the gradients of the trainers on each host and pushes the sum. Combine then gets fewer
// gradients, but ServerEnv.Trainers still counts all trainers.
func Adding(server Part) Part {
	if server.Timing == 0 {
		mistake("%s %s cannot be declared to add, which only an ElementwiseServer can", server.Kind, server.Key)
	}
	server.Adds = true
	return server
}

// NewParameterServer declares a server of parameters. A server of parameters gets the run's model
// and answers gradients with updated parameters. See NewServer for defaults.
func NewParameterServer[S any](key string, defaults S, build func(S, ServerEnv) (Server, error)) Part {
	return newServer(key, ServiceParameters, defaults, build)
}

// Asynchronous declares that a server of gradients or parameters may answer a push before all of
// its trainers have pushed the same batch. The trainers then run independently. The trainers may
// have different numbers of batches. In a pass of a given time, each trainer stops by its own
// clock. So one trainer may push a batch that others never push.
//
// If the server waits for some trainers, as a stale-synchronous server waits for the slowest, the
// server must be an Expecter. The server then knows which trainers have no batches left.
func Asynchronous(server Part) Part {
	if server.Kind != KindServer || server.Serves == ServiceTables || server.Timing != 0 {
		mistake("%s %s cannot be asynchronous, which only a Server can", server.Kind, server.Key)
	}
	server.Asynchronous = true
	return server
}

// WithQuorum declares that the named setting is the number of trainers for which a server waits; 0
// means all. A server that waits for fewer trainers than it has is asynchronous.
func WithQuorum(setting string, server Part) Part {
	if !slices.ContainsFunc(server.Settings, func(s Setting) bool { return s.Name == setting && s.Type == "integer" }) {
		mistake("%s %s has no setting %s, an integer", server.Kind, server.Key, setting)
	}
	Asynchronous(server) // panics unless the server may be asynchronous
	server.Quorum = setting
	return server
}

// RanksDiffer declares that a hook, server, trainer or model may leave the trainers with unequal
// parameters. Examples are gossip, and local steps between averages. Without this declaration,
// psbench warns if trainers exchange gradients but end a pass with unequal parameters. A hook
// without links and an asynchronous server do not need the declaration.
func RanksDiffer(part Part) Part {
	switch part.Kind {
	case KindHook, KindServer, KindTrainer, KindModel:
	default:
		mistake("%s %s cannot make trainers end with different results", part.Kind, part.Key)
	}
	part.RanksDiffer = true
	return part
}

// NewTableServer declares a server of an embedding table. See NewServer for defaults.
func NewTableServer[S any](key string, defaults S, build func(S, TableEnv) (TableServer, error)) Part {
	return newServer(key, ServiceTables, defaults, build)
}

func newServer[S, E, P any](key string, serves Service, defaults S, build func(S, E) (P, error)) Part {
	part := newPart(KindServer, key, defaults, build)
	part.Serves = serves
	return part
}

// NewTrainer declares a trainer whose gradients are reduced. If the run has servers, they must be
// servers of gradients. See NewServer for defaults.
func NewTrainer[S any](key string, defaults S, build func(S, TrainerEnv) (Trainer, error)) Part {
	return newTrainer(key, ServiceGradients, defaults, build)
}

// NewTableTrainer declares a trainer that looks up rows in servers of tables. The trainer must be
// an InputPlanner. See NewServer for defaults.
func NewTableTrainer[S any](key string, defaults S, build func(S, TrainerEnv) (Trainer, error)) Part {
	return newTrainer(key, ServiceTables, defaults, build)
}

// NewParameterTrainer declares a trainer that gets updated parameters from servers of
// parameters. See NewServer for defaults.
func NewParameterTrainer[S any](key string, defaults S, build func(S, TrainerEnv) (Trainer, error)) Part {
	return newTrainer(key, ServiceParameters, defaults, build)
}

func newTrainer[S any](key string, needs Service, defaults S, build func(S, TrainerEnv) (Trainer, error)) Part {
	part := newPart(KindTrainer, key, defaults, build)
	part.Needs = needs
	return part
}

// NewHook declares a hook and the links that it uses. A hook that does not communicate has no
// links. psbench connects only these links. Links connect trainers, and connected trainers run the
// same number of batches. See NewServer for defaults.
func NewHook[S any](key string, defaults S, build func(S, HookEnv) (Hook, error), links ...Link) Part {
	part := newPart(KindHook, key, defaults, build)
	part.Links = links
	return part
}

// Carrying declares that a hook only passes buckets to its links and accesses no values. The hook's
// buckets may then lie in the memory of a device.
func Carrying(hook Part) Part {
	if hook.Kind != KindHook || len(hook.Links) == 0 {
		mistake("%s %s cannot be declared to carry buckets: only a hook with links can", hook.Kind, hook.Key)
	}
	hook.Carries = true
	return hook
}

// NewCriterion declares a criterion. See NewServer for defaults.
func NewCriterion[S any](key string, defaults S, build func(S, CriterionEnv) (Criterion, error)) Part {
	return newPart(KindCriterion, key, defaults, build)
}

// WithTargets declares the kind of targets that a FloatCriterion takes. A criterion without this
// declaration takes classes.
func WithTargets(kind TargetKind, criterion Part) Part {
	if criterion.Kind != KindCriterion || !slices.Contains(TargetKinds, kind) {
		mistake("%s %s cannot take %q as targets: only a criterion can, and its targets must be one of %q", criterion.Kind,
			criterion.Key, kind, TargetKinds)
	}
	criterion.Targets = kind
	return criterion
}

// NewData declares a data part. See NewServer for defaults.
func NewData[S any](key string, defaults S, build func(S, DataEnv) (Data, error)) Part {
	return newPart(KindData, key, defaults, build)
}

// NewModel declares a model. See NewServer for defaults.
func NewModel[S any](key string, defaults S, build func(S, ModelEnv) (Model, error)) Part {
	return newPart(KindModel, key, defaults, build)
}

// InTrainer declares a key of an in-trainer kind. The trainer in the same plugin builds the part.
func InTrainer(kind Kind, key string) Part { return Part{Kind: kind, Key: key} }

// Stochastic declares that a model draws random numbers, for example for dropout. The model's
// outputs and gradients for the same batch then differ each time. Initialize must restart the
// model's random numbers, because the conformance kit calls Initialize before each comparison.
func Stochastic(model Part) Part {
	if model.Kind != KindModel {
		mistake("%s %s cannot be stochastic, which only a Model can", model.Kind, model.Key)
	}
	model.Stochastic = true
	return model
}

// SmallestBatch declares the minimum number of samples that a model needs in a batch, such as 2 for
// batch normalization. psbench refuses a smaller --batch-size. The data's last batch may still be
// smaller.
func SmallestBatch(samples int, model Part) Part {
	if model.Kind != KindModel || samples < 1 {
		mistake("%s %s cannot have a smallest batch of %d: only a Model can, of 1 sample or more", model.Kind,
			model.Key, samples)
	}
	model.SmallestBatch = samples
	return model
}
