// Package plugin provides the main function of a plugin, an executable with parts. Package sdk
// describes parts.
//
//	func main() {
//		plugin.Serve(sdk.NewServer("mine", Settings{}, New))
//	}
package plugin

import (
	"github.com/psbench/psbench/internal/host"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

// Serve serves the parts until the core ends this process or the core itself exits. Before Serve,
// the plugin must not print to standard output. The parts compute in ordinary memory.
func Serve(parts ...sdk.Part) { host.Serve(parts...) }

// ServeOn is like Serve, for parts that compute in the memory of another engine. The function open
// opens the engine.
func ServeOn(open engine.Opener, parts ...sdk.Part) { host.ServeOn(open, parts...) }
