//go:build !amd64

package native

import "github.com/psbench/psbench/internal/simd"

// kernelsOf returns the kernels of a level: there is but one here.
func kernelsOf(simd.Level) kernels { return portable }
