package native

import "github.com/psbench/psbench/internal/simd"

//go:generate go -C gen run . -out ../kernels_amd64.s -stubs ../kernels_amd64.go -pkg native

// kernelsOf returns the kernels of a level.
func kernelsOf(level simd.Level) kernels {
	switch level {
	case simd.AVX512:
		return kernels{tile: tileAVX512, rows: 12, columns: 32, dot: dotAVX512, dotRows: 6, transpose: transposeAVX2,
			few: 64, inPlaceRows: 160}
	case simd.AVX2:
		return kernels{tile: tileAVX2, rows: 6, columns: 16, dot: dotAVX2, dotRows: 3, transpose: transposeAVX2,
			few: 40, inPlaceRows: 40}
	default:
		return portable
	}
}
