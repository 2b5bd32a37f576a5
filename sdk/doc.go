// Package sdk is what an author of parts reads.
//
// A plugin is an executable that provides parts. A part is one implementation,
// named by a key, of one kind: server, trainer, hook, criterion, data or model.
// Each kind is a small interface in a file of its own. The main function of a
// plugin lists its parts and serves them (package sdk/plugin):
//
//	func main() {
//		plugin.Serve(sdk.NewServer("mine", Settings{}, New))
//	}
//
// The core starts one process per rank, tells it over gRPC which part to be,
// and connects the processes; package comm then moves the tensors. Nothing
// inside an iteration goes through gRPC.
//
// Life of a part: it is built with its settings and environment, is reset, runs the
// warm-up pass, is reset again, runs the measured pass, and is asked for its metrics. At the
// end a part that is an io.Closer is closed, however the run ended: once, when no other
// method of it runs, while its links are still there. docs/plugins.md has the whole of it.
package sdk
