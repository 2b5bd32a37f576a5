//go:build !amd64

package simd

// best returns the highest level of this machine.
func best() Level { return Portable }
