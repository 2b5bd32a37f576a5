//go:build nvidia

// Command psbench-cuda is the plugin whose parts compute on an NVIDIA GPU. psbench starts it, and only
// one of the same build. "psbench-cuda version" prints which that is.
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
