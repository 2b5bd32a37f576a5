//go:build race || emulated

package shm

// weakStores says that an atomic store may become visible after a later atomic
// load. The race detector implements atomic operations itself, and its stores
// only release. On memory that the detector does not follow, such as a segment,
// nothing else orders them.
//
// qemu-user does not order them either when it runs arm64 on amd64. qemu-user
// puts a fence before a release and a fence after an acquire, so there is none
// between the two. The build tag emulated is for tests that run in qemu-user.
const weakStores = true
