package sdk

// Kind is the kind of a part.
type Kind string

// The kinds of parts that a plugin can provide in a process of its own.
const (
	KindServer    Kind = "server"
	KindTrainer   Kind = "trainer"
	KindHook      Kind = "hook"
	KindCriterion Kind = "criterion"
	KindData      Kind = "data"
	KindModel     Kind = "model"
)

// The in-trainer kinds. Parts of these kinds use live objects of a trainer, so they are compiled
// into the plugin that provides the trainer. The trainer chooses its parts of these kinds by key.
const (
	KindDDPModel       Kind = "ddp_model"
	KindHookState      Kind = "hook_state"
	KindIterationStep  Kind = "iteration_step"
	KindPreprocessData Kind = "preprocess_data"
)

// Service is the service that a server offers and a trainer needs.
type Service string

// The services. A run's servers must offer the service that the run's trainers need.
const (
	ServiceGradients  Service = "gradients"  // push gradients, pull reduced gradients
	ServiceTables     Service = "tables"     // look up and update rows of embedding tables
	ServiceParameters Service = "parameters" // push gradients, pull updated parameters
)

// Link is a link that a hook uses.
type Link string

// The links of a hook. A hook finds its links in HookEnv.Links.
const (
	LinkServer  Link = "server"  // push and pull with the trainer's server
	LinkGroup   Link = "group"   // the group of all trainers
	LinkDefault Link = "default" // a second group of the same members
)
