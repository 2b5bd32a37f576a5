//go:build !amd64

package simd

// best is the highest level of this machine.
func best() Level { return Portable }
