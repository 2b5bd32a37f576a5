package registry

import (
	"github.com/psbench/psbench/core/host/jsonfile"
	"github.com/psbench/psbench/sdk"
)

// File is the content of a registry file. Each map goes from the keys of one
// kind to what provides them.
type File struct {
	Schema           string                  `json:"$schema,omitempty" doc:"where the schema of this file is, for editors"`
	Plugins          map[string]Program      `json:"plugins,omitempty" doc:"executables by the names that the maps use; builtin is psbench itself"`
	ServerMap        map[string]ServerEntry  `json:"server_map,omitempty" doc:"servers"`
	TrainerMap       map[string]TrainerEntry `json:"trainer_map,omitempty" doc:"trainers"`
	DDPHookMap       map[string]HookEntry    `json:"ddp_hook_map,omitempty" doc:"DDP communication hooks"`
	DDPModelMap      map[string]Entry        `json:"ddp_model_map,omitempty" doc:"how a trainer wraps its model"`
	HookStateMap     map[string]Entry        `json:"hook_state_map,omitempty" doc:"what a hook knows of the iteration"`
	IterationStepMap map[string]Entry        `json:"iteration_step_map,omitempty" doc:"what a trainer does in one iteration"`
	PreprocessMap    map[string]Entry        `json:"preprocess_data_map,omitempty" doc:"what a trainer does to its batches before training"`
	CriterionMap     map[string]Entry        `json:"criterion_map,omitempty" doc:"loss functions"`
	DataMap          map[string]Entry        `json:"data_map,omitempty" doc:"data"`
	ModelMap         map[string]ModelEntry   `json:"model_map,omitempty" doc:"models"`
}

// Program is an executable that serves parts.
type Program struct {
	Command []string `json:"command" jsonschema:"required,minItems=1" doc:"the program and its arguments; a relative program lies beside this file"`
	SHA256  string   `json:"sha256,omitempty" jsonschema:"pattern=^[0-9a-f]{64}$" doc:"checksum of the program in hex, checked before each start"`
	// Files, beside the checksum, cover a program that another one reads.
	Files map[string]string `json:"files,omitempty" doc:"checksums in hex by absolute path of what else the command runs, checked before each start: the interpreter of a script, a script that is an argument"`
	// Contract is for people: each start asks anew.
	Contract string `json:"contract,omitempty" jsonschema:"pattern=^[0-9]+[.][0-9]+$" doc:"version of the contract that the program spoke when it was added"`
	// Includes lets a trainer have parts of other plugins in its process.
	Includes []string `json:"includes,omitempty" doc:"plugins whose parts this program serves too, such as builtin: they need no process of their own beside it"`
}

// Entry says what provides a key.
type Entry struct {
	Plugin      string   `json:"plugin" jsonschema:"required" doc:"name of the plugin: builtin or one of plugins"`
	Aliases     []string `json:"aliases,omitempty" doc:"other names of the key"`
	Description string   `json:"description,omitempty" doc:"one line for psbench list"`
}

// ServerEntry says what provides a server and what that serves.
type ServerEntry struct {
	Entry
	Serves string `json:"serves,omitempty" jsonschema:"enum=gradients,enum=tables,enum=parameters" doc:"what trainers get from the server: gradients, rows of tables, or parameters; the plugin says so itself and must agree"`
	// Asynchronous is nil where the file does not say.
	Asynchronous *bool `json:"asynchronous,omitempty" doc:"whether the server answers before all of its trainers have come, so that they need not run equally many batches; the plugin says so itself and must agree"`
}

// TrainerEntry says what provides a trainer and what it needs.
type TrainerEntry struct {
	Entry
	Needs    string            `json:"needs,omitempty" jsonschema:"enum=gradients,enum=tables,enum=parameters" doc:"what its servers must serve: gradients, tables or parameters; the plugin says so itself and must agree"`
	Defaults map[string]any    `json:"defaults,omitempty" doc:"values of options that nobody gave, for this trainer"`
	Bounds   map[string]string `json:"bounds,omitempty" doc:"settings of parts, as kind.setting, and others that they must not exceed; where one of the two is given it sizes both"`
}

// ModelEntry says what provides a model.
type ModelEntry struct {
	Entry
	Defaults map[string]any `json:"defaults,omitempty" doc:"values of options that nobody gave, for this model; they win over the trainer's"`
}

// HookEntry says what provides a hook.
type HookEntry struct {
	Entry
	Links []sdk.Link `json:"links,omitempty" jsonschema:"enum=server,enum=group,enum=default" doc:"links of the hook: server (push and pull with the trainer's server), group (all trainers), default (a second group of all trainers); the plugin says so itself and must agree"`
}

// entry is an entry of any map.
type entry struct {
	Entry
	links         []sdk.Link // of a hook; nil where the file does not say
	serves, needs string     // of a server, of a trainer
	asynchronous  *bool      // of a server; nil where the file does not say
	defaults      map[string]any
	bounds        map[string]string // of a trainer
}

// kindMap is one of the maps that every file has.
type kindMap struct {
	name    string
	kind    sdk.Kind
	entries func(*File) map[string]entry
	// parse reads one entry, as that of a file at a path.
	parse func(path string, text []byte) (entry, error)
}

// kindMaps are the maps of a file in their order.
var kindMaps = []kindMap{
	mapOf("server_map", sdk.KindServer, func(f *File) map[string]ServerEntry { return f.ServerMap }, func(e ServerEntry) entry {
		return entry{Entry: e.Entry, serves: e.Serves, asynchronous: e.Asynchronous}
	}),
	mapOf("trainer_map", sdk.KindTrainer, func(f *File) map[string]TrainerEntry { return f.TrainerMap }, func(e TrainerEntry) entry {
		return entry{Entry: e.Entry, needs: e.Needs, defaults: e.Defaults, bounds: e.Bounds}
	}),
	mapOf("ddp_hook_map", sdk.KindHook, func(f *File) map[string]HookEntry { return f.DDPHookMap }, func(e HookEntry) entry {
		return entry{Entry: e.Entry, links: e.Links}
	}),
	mapOf("ddp_model_map", sdk.KindDDPModel, func(f *File) map[string]Entry { return f.DDPModelMap }, plain),
	mapOf("hook_state_map", sdk.KindHookState, func(f *File) map[string]Entry { return f.HookStateMap }, plain),
	mapOf("iteration_step_map", sdk.KindIterationStep, func(f *File) map[string]Entry { return f.IterationStepMap }, plain),
	mapOf("preprocess_data_map", sdk.KindPreprocessData, func(f *File) map[string]Entry { return f.PreprocessMap }, plain),
	mapOf("criterion_map", sdk.KindCriterion, func(f *File) map[string]Entry { return f.CriterionMap }, plain),
	mapOf("data_map", sdk.KindData, func(f *File) map[string]Entry { return f.DataMap }, plain),
	mapOf("model_map", sdk.KindModel, func(f *File) map[string]ModelEntry { return f.ModelMap }, func(e ModelEntry) entry {
		return entry{Entry: e.Entry, defaults: e.Defaults}
	}),
}

// mapOf is the map of a name, whose entries are of type E.
func mapOf[E any](name string, kind sdk.Kind, field func(*File) map[string]E, convert func(E) entry) kindMap {
	return kindMap{
		name: name, kind: kind,
		entries: func(f *File) map[string]entry {
			out := make(map[string]entry, len(field(f)))
			for key, e := range field(f) {
				out[key] = convert(e)
			}
			return out
		},
		parse: func(path string, text []byte) (entry, error) {
			var e E
			err := jsonfile.Decode(path, text, &e)
			return convert(e), err
		},
	}
}

func plain(e Entry) entry { return entry{Entry: e} }
