// Package models provides the built-in models.
package models

import "github.com/psbench/psbench/sdk"

// Parts lists the models of this package.
func Parts() []sdk.Part {
	return []sdk.Part{
		sdk.NewModel("dlrm", DefaultDLRM, NewDLRM),
		sdk.NewModel("dummy", DefaultDummy, NewDummy),
		sdk.NewModel("mlp", DefaultMLP, NewMLP),
	}
}
