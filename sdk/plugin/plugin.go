// Package plugin has the main function of a plugin: an executable that provides parts,
// which package sdk describes.
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

// Serve serves the parts until the core asks the process to end, or is gone. Nothing may be
// printed to standard output before. The parts compute in ordinary memory.
func Serve(parts ...sdk.Part) { host.Serve(parts...) }

// ServeOn is Serve for parts that compute in the memory of an engine of their own, which open
// opens.
func ServeOn(open engine.Opener, parts ...sdk.Part) { host.ServeOn(open, parts...) }
