// Package sdk defines the interfaces that the parts of a plugin implement.
//
// A plugin is an executable that provides parts. A part is one implementation of a kind, named by a
// key. The kinds are server, trainer, hook, criterion, data and model. Each kind is a small
// interface in a file of its own. The main function of a plugin lists its parts and serves them
// (package sdk/plugin):
//
//	func main() {
//		plugin.Serve(sdk.NewServer("mine", Settings{}, New))
//	}
//
// The core starts one process per rank, configures its part over gRPC and connects the processes.
// Package comm then moves the tensors: no tensor of an iteration travels over the core's gRPC
// connections.
//
// The host builds a part with its settings and environment. The host resets the part and runs the
// warm-up pass, then resets it again and runs the measured pass. The host then collects the part's
// metrics.
//
// Finally, however the run ended, the host closes a part that is an io.Closer. The host closes the
// part once, when no other method of the part is running, and before it closes the part's links.
// docs/plugins.md describes all steps.
package sdk
