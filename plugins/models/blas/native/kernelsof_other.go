//go:build !amd64

package native

import "github.com/psbench/psbench/internal/simd"

// kernelsOf returns the kernels of a level. This platform has only one.
func kernelsOf(simd.Level) kernels { return portable }
