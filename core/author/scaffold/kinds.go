package scaffold

import (
	"fmt"
	"strings"

	"github.com/psbench/psbench/sdk"
)

// Kind is a kind of project that can be generated.
type Kind struct {
	Name string   // name for users; also the folder of the templates
	Kind sdk.Kind // kind of the part
	Does string   // what the generated part does, for listings

	title    string // name in a sentence
	run      string // flags that measure the part with the key NAME
	wrong    string // settings in JSON that the part refuses
	includes bool   // the program also provides psbench's own parts
	inGo     bool   // can be written only in Go
}

// Language is the programming language of a project.
type Language string

// These are the languages of projects.
const (
	Go     Language = "go"
	Python Language = "python"
)

// Languages lists the languages of projects. The most common one comes first.
var Languages = []Language{Go, Python}

// In returns an error if a project of this kind cannot be written in a language.
func (k Kind) In(language Language) error {
	if language != Python || !k.inGo {
		return nil
	}
	return fmt.Errorf("a %s is written in Go (--lang go); in Python there can be: %s", k.title,
		strings.Join(pythonKinds(), ", "))
}

func pythonKinds() (names []string) {
	for _, k := range Kinds {
		if !k.inGo {
			names = append(names, k.Name)
		}
	}
	return names
}

// Kinds lists all kinds of projects in the order in which psbench shows them.
var Kinds = []Kind{
	{
		Name: "server", Kind: sdk.KindServer, title: "server",
		Does:  "averages gradients and counts the elements above a limit",
		wrong: `{"limit": 0}`,
		run:   "--server NAME --set server.limit=1e-7",
	},
	{
		Name: "table-server", Kind: sdk.KindServer, title: "server of a table", inGo: true,
		Does:  "holds an embedding table, which plain SGD steps",
		wrong: `{"num_embeddings": 0}`,
		run:   "--trainer hybrid --ntrainer 2 --nserver 2 --server NAME",
	},
	{
		Name: "hook", Kind: sdk.KindHook, title: "hook",
		Does:  "averages each bucket over the trainers and measures its norm",
		wrong: `{"max_norm": 0}`,
		run:   "--nserver 0 --ddp-hook NAME --set hook.max_norm=1e-4",
	},
	{
		Name: "criterion", Kind: sdk.KindCriterion, title: "criterion",
		Does:  "the Huber loss: quadratic near the target, linear far from it",
		wrong: `{"delta": 0}`,
		run:   "--create-criterion NAME",
	},
	{
		Name: "model", Kind: sdk.KindModel, title: "model",
		Does:  "softmax regression on bags of indices",
		wrong: `{"rows": 0}`,
		run:   "--model NAME --set trainer.lr=1",
	},
	{
		Name: "data", Kind: sdk.KindData, title: "data",
		Does:  "learnable random samples in the form that the model takes",
		wrong: `{"samples": 0}`,
		run:   "--data NAME",
	},
	{
		Name: "trainer", Kind: sdk.KindTrainer, title: "trainer", includes: true, inGo: true,
		Does:  "data-parallel training with a learning rate that grows with the world",
		wrong: `{"lr": 0}`,
		run:   "--trainer NAME",
	},
}
