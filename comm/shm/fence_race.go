//go:build race

package shm

// weakStores tells that an atomic store may come after a later atomic load. The
// race detector carries out atomic operations itself, and its stores release
// only. On memory that it does not follow, such as a segment, nothing else orders
// them.
const weakStores = true
