//go:build !race && !emulated

package shm

// weakStores tells that an atomic store may come after a later atomic load.
const weakStores = false
