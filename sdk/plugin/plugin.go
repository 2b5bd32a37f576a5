// Package plugin has the main function of a plugin: an executable that provides parts,
// which package sdk describes.
//
//	func main() {
//		plugin.Serve(sdk.NewServer("mine", Settings{}, New))
//	}
package plugin

import (
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/host"
)

// Serve serves the parts until the core asks the process to end, or is gone. Nothing may be
// printed to standard output before.
func Serve(parts ...sdk.Part) { host.Serve(parts...) }
