// Command device is a plugin on an engine of its own, here that of psbench's tests, with a trainer
// for it: psbench's ddp under another key.
package main

import (
	"slices"

	"github.com/psbench/psbench/plugins"
	"github.com/psbench/psbench/plugins/trainers/ddp"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine/enginetest"
	"github.com/psbench/psbench/sdk/plugin"
)

func main() {
	// Trainers, hooks, servers and data are psbench's own as they are; models and criteria
	// compute on the engine, here inside of a border.
	parts := slices.Concat(enginetest.Parts(plugins.Parts()), []sdk.Part{
		sdk.NewTrainer("device_ddp", ddp.Defaults, ddp.New),
	})
	plugin.ServeOn(enginetest.Full.Open, parts...)
}
