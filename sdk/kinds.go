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
