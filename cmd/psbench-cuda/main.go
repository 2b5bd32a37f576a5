//go:build nvidia

// Command psbench-cuda is the plugin whose parts compute on an NVIDIA GPU. psbench starts it; it must
// be of the same build.
package main

import (
	"fmt"
	"os"
	"runtime"

	"github.com/psbench/psbench/core/result"
	_ "github.com/psbench/psbench/cuda/driver" // until its engine is served
	"github.com/psbench/psbench/plugins"
	"github.com/psbench/psbench/sdk/plugin"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == "version" {
		fmt.Printf("psbench-cuda %s, commit %s, %s, %s/%s\n", result.Version(), result.Commit(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
		return
	}
	plugin.Serve(plugins.Parts()...)
}
