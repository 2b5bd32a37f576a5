// Package comm defines the interfaces of the data plane that all transports
// implement: links, futures, stores, tables, wait errors and the clock.
//
// A link joins a fixed set of processes once, before the first iteration, and
// then carries one operation per bucket and batch. There are three kinds of
// link:
//
//   - push/pull with a server: ServerLink and Port
//   - a collective among trainers: GroupLink
//   - lookups in an embedding table on a server, one call at a time: TableLink
//     and TablePort
//
// All links are interfaces, so a hook or a server works over any transport.
//
// Package tensor defines the gradients. These packages carry them:
//
//   - wire has connections, frames, listeners and networks; wire/grpc is a
//     network over gRPC
//   - internal/op tracks pending operations
//   - stream builds links that exchange frames; shared builds links on memory
//     that ranks map
//   - fabric lists both by name and holds everything that a process opens
//
// Package comm imports neither sdk, core nor plugins.
package comm
