package scaffold

import "github.com/psbench/psbench/sdk"

// Kind is what a project can be made for.
type Kind struct {
	Name string   // as users give it, which is the folder of its templates, too
	Kind sdk.Kind // of the part
	Does string   // what the generated part does, in the words of a listing

	title    string   // in a sentence
	mapName  string   // of registry files
	flags    []string // of a run that measures the part; its key follows
	wrong    string   // settings, in JSON, that the part refuses
	includes bool     // whether the program serves psbench's parts as well
}

// Kinds lists what projects are made for, in the order in which they are shown.
var Kinds = []Kind{
	{
		Name: "server", Kind: sdk.KindServer, title: "server", mapName: "server_map",
		Does:  "averages gradients and holds each element within a limit",
		wrong: `{"limit": 0}`,
		flags: []string{"--server"},
	},
	{
		Name: "table-server", Kind: sdk.KindServer, title: "server of a table", mapName: "server_map",
		Does:  "holds an embedding table, which plain SGD steps",
		wrong: `{"num_embeddings": 0}`,
		flags: []string{"--trainer", "hybrid", "--ntrainer", "2", "--nserver", "2", "--server"},
	},
	{
		Name: "hook", Kind: sdk.KindHook, title: "hook", mapName: "ddp_hook_map",
		Does:  "clips the norm of each bucket and averages it over the trainers",
		wrong: `{"max_norm": 0}`,
		flags: []string{"--nserver", "0", "--ddp-hook"},
	},
	{
		Name: "criterion", Kind: sdk.KindCriterion, title: "criterion", mapName: "criterion_map",
		Does:  "the Huber loss: quadratic near the target, linear far from it",
		wrong: `{"delta": 0}`,
		flags: []string{"--create-criterion"},
	},
	{
		Name: "model", Kind: sdk.KindModel, title: "model", mapName: "model_map",
		Does:  "softmax regression on bags of indices",
		wrong: `{"rows": 0}`,
		flags: []string{"--model"},
	},
	{
		Name: "data", Kind: sdk.KindData, title: "data", mapName: "data_map",
		Does:  "random samples as the model takes them, which can be learnt",
		wrong: `{"samples": 0}`,
		flags: []string{"--data"},
	},
	{
		Name: "trainer", Kind: sdk.KindTrainer, title: "trainer", mapName: "trainer_map", includes: true,
		Does:  "data-parallel training with a learning rate that grows with the world",
		wrong: `{"lr": 0}`,
		flags: []string{"--trainer"},
	},
}
