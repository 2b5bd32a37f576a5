// Package plugins lists the parts that psbench itself provides. An external plugin may serve these parts together
// with its own. The plugin's trainer then has psbench's hooks, criteria and models in the same process:
//
//	plugin.Serve(append(plugins.Parts(), sdk.NewTrainer("mine", settings{}, newTrainer))...)
//
// The plugin's registry file then says that the plugin includes the plugin builtin.
package plugins

import (
	"slices"

	"github.com/psbench/psbench/plugins/conformance"
	"github.com/psbench/psbench/plugins/criteria"
	"github.com/psbench/psbench/plugins/data"
	"github.com/psbench/psbench/plugins/hooks"
	"github.com/psbench/psbench/plugins/models"
	"github.com/psbench/psbench/plugins/servers"
	"github.com/psbench/psbench/plugins/trainers/batchupdate"
	"github.com/psbench/psbench/plugins/trainers/ddp"
	"github.com/psbench/psbench/plugins/trainers/hybrid"
	"github.com/psbench/psbench/sdk"
)

// Parts lists all of psbench's own parts.
func Parts() []sdk.Part {
	return slices.Concat(
		ddp.Parts(), hybrid.Parts(), batchupdate.Parts(), servers.Parts(), hooks.Parts(), criteria.Parts(),
		data.Parts(), models.Parts(),
	)
}

// Builtin lists all parts that psbench serves: those of Parts and Internal.
func Builtin() []sdk.Part { return slices.Concat(Parts(), Internal()) }

// Internal lists the parts that `psbench plugin check` uses to test points of a contract. No registry names them.
func Internal() []sdk.Part { return conformance.Parts() }
