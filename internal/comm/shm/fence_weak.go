//go:build race || emulated

package shm

// weakStores tells that an atomic store may come after a later atomic load. The
// race detector carries out atomic operations itself, and its stores release
// only. On memory that it does not follow, such as a segment, nothing else orders
// them. Nor does qemu-user where it runs arm64 on amd64: it puts a fence before a
// release and one after an acquire, hence none between them. The tag emulated is for
// tests that run in it.
const weakStores = true
