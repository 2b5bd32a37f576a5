package registry

import "github.com/psbench/psbench/sdk"

// File is the content of a registry file. Each map contains the keys of one kind, and which plugin provides them. The
// fields and their tags are the only list of these maps. The schema and the code that reads, adds and removes entries
// use these fields and tags.
type File struct {
	Schema           string                  `json:"$schema,omitempty" doc:"where the schema of this file is, for editors"`
	Plugins          map[string]Program      `json:"plugins,omitempty" doc:"executables by the names that the maps use; builtin is psbench itself"`
	ServerMap        map[string]ServerEntry  `json:"server_map,omitempty" kind:"server" doc:"servers"`
	TrainerMap       map[string]TrainerEntry `json:"trainer_map,omitempty" kind:"trainer" doc:"trainers"`
	DDPHookMap       map[string]HookEntry    `json:"ddp_hook_map,omitempty" kind:"hook" doc:"DDP communication hooks"`
	DDPModelMap      map[string]Entry        `json:"ddp_model_map,omitempty" kind:"ddp_model" doc:"how a trainer wraps its model"`
	HookStateMap     map[string]Entry        `json:"hook_state_map,omitempty" kind:"hook_state" doc:"state of the iteration that a hook receives"`
	IterationStepMap map[string]Entry        `json:"iteration_step_map,omitempty" kind:"iteration_step" doc:"steps of one training iteration"`
	PreprocessMap    map[string]Entry        `json:"preprocess_data_map,omitempty" kind:"preprocess_data" doc:"preprocessing of a trainer's batches before training"`
	CriterionMap     map[string]Entry        `json:"criterion_map,omitempty" kind:"criterion" doc:"loss functions"`
	DataMap          map[string]Entry        `json:"data_map,omitempty" kind:"data" doc:"data"`
	ModelMap         map[string]ModelEntry   `json:"model_map,omitempty" kind:"model" doc:"models"`
}

// Program is an executable that provides parts.
type Program struct {
	Command []string `json:"command" jsonschema:"required,minItems=1" doc:"the program and its arguments; a relative program lies beside this file"`
	SHA256  string   `json:"sha256,omitempty" jsonschema:"pattern=^[0-9a-f]{64}$" doc:"checksum of the program in hex, checked before each start"`
	// Files contains more checksums, for files that the program reads.
	Files map[string]string `json:"files,omitempty" doc:"checksums in hex, by absolute path, of the other files that the command runs, checked before each start: the interpreter of a script, a script that is an argument"`
	// Contract is only for people, because each start asks the plugin again.
	Contract string `json:"contract,omitempty" jsonschema:"pattern=^[0-9]+[.][0-9]+$" doc:"version of the program's contract when it was added"`
	// Includes allows a trainer to have parts of these plugins in its process.
	Includes []string `json:"includes,omitempty" doc:"plugins whose parts this program serves too, such as builtin: they need no process of their own beside it"`
}

// Entry says which plugin provides a key.
type Entry struct {
	Plugin      string   `json:"plugin" jsonschema:"required" doc:"name of the plugin: builtin or one of plugins"`
	Aliases     []string `json:"aliases,omitempty" doc:"other names of the key"`
	Description string   `json:"description,omitempty" doc:"one line for psbench list"`
}

// ServerEntry says which plugin provides a server, and what the server serves.
type ServerEntry struct {
	Entry
	Serves string `json:"serves,omitempty" jsonschema:"enum=gradients,enum=tables,enum=parameters" doc:"what trainers get from the server: gradients, rows of tables, or parameters; the plugin says so itself and must agree"`
	// Asynchronous is nil if the file does not say whether the server is asynchronous.
	Asynchronous *bool `json:"asynchronous,omitempty" doc:"whether the server answers before all of its trainers have pushed, so that they need not run equally many batches; the plugin says so itself and must agree"`
}

// TrainerEntry says which plugin provides a trainer, and what the trainer needs.
type TrainerEntry struct {
	Entry
	Needs    string            `json:"needs,omitempty" jsonschema:"enum=gradients,enum=tables,enum=parameters" doc:"what its servers must serve: gradients, tables or parameters; the plugin says so itself and must agree"`
	Defaults map[string]any    `json:"defaults,omitempty" doc:"default values of options for this trainer"`
	Bounds   map[string]string `json:"bounds,omitempty" doc:"settings of parts, as kind.setting, and others that they must not exceed; if only one of the two is given, it sets both"`
}

// ModelEntry says which plugin provides a model.
type ModelEntry struct {
	Entry
	Defaults map[string]any `json:"defaults,omitempty" doc:"default values of options for this model; they win over the trainer's"`
}

// HookEntry says which plugin provides a hook.
type HookEntry struct {
	Entry
	Links []sdk.Link `json:"links,omitempty" jsonschema:"enum=server,enum=group,enum=default" doc:"links of the hook: server (push and pull with the trainer's server), group (all trainers), default (a second group of all trainers); the plugin says so itself and must agree"`
}

// entry is an entry of any of the maps.
type entry struct {
	Entry
	links         []sdk.Link // links of a hook; nil if the file does not list them
	serves, needs string     // services of a server and of a trainer
	asynchronous  *bool      // whether a server is asynchronous; nil if the file does not say
	defaults      map[string]any
	bounds        map[string]string // bounds of a trainer
}

// written is an entry of one of the maps in a file.
type written interface{ entry() entry }

func (e Entry) entry() entry { return entry{Entry: e} }

func (e ServerEntry) entry() entry {
	return entry{Entry: e.Entry, serves: e.Serves, asynchronous: e.Asynchronous}
}

func (e TrainerEntry) entry() entry {
	return entry{Entry: e.Entry, needs: e.Needs, defaults: e.Defaults, bounds: e.Bounds}
}

func (e ModelEntry) entry() entry { return entry{Entry: e.Entry, defaults: e.Defaults} }

func (e HookEntry) entry() entry { return entry{Entry: e.Entry, links: e.Links} }
