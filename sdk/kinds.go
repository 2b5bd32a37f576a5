package sdk

// Kind is what a part provides.
type Kind string

// The kinds that a plugin can provide in a process of its own.
const (
	KindServer    Kind = "server"
	KindTrainer   Kind = "trainer"
	KindHook      Kind = "hook"
	KindCriterion Kind = "criterion"
	KindData      Kind = "data"
	KindModel     Kind = "model"
)

// The kinds that take live objects of a trainer: they are compiled into the
// plugin that provides the trainer and are chosen by key there.
const (
	KindDDPModel       Kind = "ddp_model"
	KindHookState      Kind = "hook_state"
	KindIterationStep  Kind = "iteration_step"
	KindPreprocessData Kind = "preprocess_data"
)

// Service is what trainers get from servers: what a server serves and a trainer needs.
type Service string

// The services. A run's servers serve what its trainers need.
const (
	ServiceGradients  Service = "gradients"  // reduced ones for those that were pushed
	ServiceTables     Service = "tables"     // rows of embedding tables
	ServiceParameters Service = "parameters" // updated ones for gradients
)

// Link is a link that a hook uses.
type Link string

// The links of a hook; see Links, where it finds them.
const (
	LinkServer  Link = "server"  // push and pull with the trainer's server
	LinkGroup   Link = "group"   // the group of all trainers
	LinkDefault Link = "default" // a second group of the same members
)
