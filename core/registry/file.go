package registry

import (
	"github.com/psbench/psbench/sdk"
)

// File is the content of a registry file. Each map goes from the keys of one
// kind to what provides them.
type File struct {
	Schema           string               `json:"$schema,omitempty" doc:"where the schema of this file is, for editors"`
	Plugins          map[string]Program   `json:"plugins,omitempty" doc:"executables by the names that the maps use; builtin is psbench itself"`
	ServerMap        map[string]Entry     `json:"server_map,omitempty" doc:"servers"`
	TrainerMap       map[string]Entry     `json:"trainer_map,omitempty" doc:"trainers"`
	DDPHookMap       map[string]HookEntry `json:"ddp_hook_map,omitempty" doc:"DDP communication hooks"`
	DDPModelMap      map[string]Entry     `json:"ddp_model_map,omitempty" doc:"how a trainer wraps its model"`
	HookStateMap     map[string]Entry     `json:"hook_state_map,omitempty" doc:"what a hook knows of the iteration"`
	IterationStepMap map[string]Entry     `json:"iteration_step_map,omitempty" doc:"what a trainer does in one iteration"`
	PreprocessMap    map[string]Entry     `json:"preprocess_data_map,omitempty" doc:"what a trainer does to a batch first"`
	CriterionMap     map[string]Entry     `json:"criterion_map,omitempty" doc:"loss functions"`
	DataMap          map[string]Entry     `json:"data_map,omitempty" doc:"data"`
	ModelMap         map[string]Entry     `json:"model_map,omitempty" doc:"models"`
}

// Program is an executable that serves parts.
type Program struct {
	Command []string `json:"command" jsonschema:"required,minItems=1" doc:"the program and its arguments; a relative program lies beside this file"`
	SHA256  string   `json:"sha256,omitempty" jsonschema:"pattern=^[0-9a-f]{64}$" doc:"checksum of the program in hex, checked before each start"`
}

// Entry says what provides a key.
type Entry struct {
	Plugin      string   `json:"plugin" jsonschema:"required" doc:"name of the plugin: builtin or one of plugins"`
	Aliases     []string `json:"aliases,omitempty" doc:"other names of the key"`
	Description string   `json:"description,omitempty" doc:"one line for psbench list"`
}

// HookEntry says what provides a hook and which links it uses.
type HookEntry struct {
	Entry
	Links []string `json:"links" jsonschema:"required,enum=server,enum=group,enum=default" doc:"links of the hook: server (push and pull with the trainer's server), group (all trainers), default (a second group of all trainers)"`
}

// kindMap is one map of a file.
type kindMap struct {
	name    string
	kind    sdk.Kind
	entries map[string]HookEntry // without links but for hooks
}

// maps lists the maps of f in a fixed order.
func (f *File) maps() []kindMap {
	return []kindMap{
		{"server_map", sdk.KindServer, linkless(f.ServerMap)},
		{"trainer_map", sdk.KindTrainer, linkless(f.TrainerMap)},
		{"ddp_hook_map", sdk.KindHook, f.DDPHookMap},
		{"ddp_model_map", sdk.KindDDPModel, linkless(f.DDPModelMap)},
		{"hook_state_map", sdk.KindHookState, linkless(f.HookStateMap)},
		{"iteration_step_map", sdk.KindIterationStep, linkless(f.IterationStepMap)},
		{"preprocess_data_map", sdk.KindPreprocessData, linkless(f.PreprocessMap)},
		{"criterion_map", sdk.KindCriterion, linkless(f.CriterionMap)},
		{"data_map", sdk.KindData, linkless(f.DataMap)},
		{"model_map", sdk.KindModel, linkless(f.ModelMap)},
	}
}

func linkless(entries map[string]Entry) map[string]HookEntry {
	out := make(map[string]HookEntry, len(entries))
	for key, e := range entries {
		out[key] = HookEntry{Entry: e}
	}
	return out
}
