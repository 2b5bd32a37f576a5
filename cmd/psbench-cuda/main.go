//go:build nvidia

// Command psbench-cuda is the plugin whose parts compute on an NVIDIA GPU. Only a psbench of the same build starts
// this plugin. The command "psbench-cuda version" prints the build.
package main

import (
	"fmt"

	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/cuda/compute"
	"github.com/psbench/psbench/cuda/driver/early"
	"github.com/psbench/psbench/sdk/plugin"
)

func main() {
	if early.AsksVersion() {
		fmt.Printf("psbench-cuda %s\n", result.Build())
		return
	}
	plugin.ServeOn(compute.Open, compute.Parts()...)
}
