//go:build !race && !emulated

package shm

// weakStores says whether an atomic store may become visible after a later
// atomic load.
const weakStores = false
