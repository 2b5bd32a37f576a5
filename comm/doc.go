// Package comm defines the interfaces of the data plane that all transports
// implement: links, futures, stores, tables, wait errors and the clock.
//
// A link joins a fixed set of processes once, before the first iteration, and
// then carries one operation per bucket and batch. There are three kinds of
// link. ServerLink and Port carry push/pull with a server. GroupLink carries
// collectives among trainers. TableLink and TablePort carry lookups in an
// embedding table on a server, one call at a time. All links are interfaces, so
// a hook or a server works over any transport.
//
// Package tensor defines the gradients. Other packages carry them. Package wire
// has connections, frames, listeners and networks; package wire/grpc is a
// network over gRPC. Package internal/op tracks pending operations. Package
// stream builds links that exchange frames, and package shared builds links on
// memory that ranks map. Package fabric lists both by name and holds everything
// that a process opens.
//
// Package comm imports neither sdk, core nor plugins.
package comm
