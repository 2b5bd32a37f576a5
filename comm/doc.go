// Package comm is the contract of the data plane: links, futures, stores, tables, errors of waits and the clock,
// which every transport shares.
//
// A link joins a fixed set of processes once, before the first iteration, and then
// carries one operation per bucket and batch. Three kinds exist: push/pull with a server
// (ServerLink and Port), a collective among trainers (GroupLink), and lookups in an
// embedding table that a server holds (TableLink and TablePort), which carry one call at
// a time. All are interfaces, so a hook or a server works over any transport.
//
// Package tensor, below it, has the gradients. The packages above it carry them:
//
//   - wire has connections, frames, listeners and networks; wire/grpc is one of these
//   - internal/op has the life of a pending operation
//   - stream makes links of frames, shared makes them of memory that ranks map
//   - fabric is the table of both by name, and all that a process opens
//
// Package comm imports neither sdk, core nor plugins.
package comm
