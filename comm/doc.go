// Package comm is the data plane: tensors, gradient buckets and the links
// that move them between processes.
//
// A link joins a fixed set of processes once, before the first iteration, and
// then carries one operation per bucket and batch. Two kinds exist: push/pull
// with a server (PushPuller) and a collective among trainers (Group). Both are
// interfaces, so that a hook does not know which transport carries them.
//
// Package comm imports neither sdk, core nor plugins.
package comm
