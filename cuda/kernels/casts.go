//go:build nvidia

package kernels

import "github.com/psbench/psbench/cuda/driver"

// Casts round to the nearest value, and to the even one of two equally near values. Values that are too large
// become infinite, and NaN stays NaN. 16-bit floats are stored as their bits. Each cast moves 6 bytes per element.

// ToFloat16 computes dst = src in IEEE 754's half precision.
func (q *Queue) ToFloat16(dst []uint16, src []float32) {
	if q.equal("ToFloat16", "src", len(src), len(dst)) {
		q.cast(toFloat16, pointer(src), pointer(dst), len(dst))
	}
}

// FromFloat16 computes dst = src, exactly.
func (q *Queue) FromFloat16(dst []float32, src []uint16) {
	if q.equal("FromFloat16", "src", len(src), len(dst)) {
		q.cast(fromFloat16, pointer(dst), pointer(src), len(dst))
	}
}

// ToBFloat16 computes dst = src in bfloat16, the upper half of a float32.
func (q *Queue) ToBFloat16(dst []uint16, src []float32) {
	if q.equal("ToBFloat16", "src", len(src), len(dst)) {
		q.cast(toBFloat16, pointer(src), pointer(dst), len(dst))
	}
}

// FromBFloat16 computes dst = src, exactly.
func (q *Queue) FromBFloat16(dst []float32, src []uint16) {
	if q.equal("FromBFloat16", "src", len(src), len(dst)) {
		q.cast(fromBFloat16, pointer(dst), pointer(src), len(dst))
	}
}

// cast launches a kernel on n elements. Elements are processed in fours if both arrays have the same alignment
// relative to four elements.
func (q *Queue) cast(k kernel, wide, narrow driver.Pointer, n int) {
	head, quads := fours(n, 4, wide)
	if narrowHead, _ := fours(n, 2, narrow); narrowHead != head {
		head, quads = 0, 0
	}
	q.args.Reset()
	q.args.Pointer(wide)
	q.args.Pointer(narrow)
	q.args.U64(uint64(n))     // #nosec G115 -- not negative
	q.args.U64(uint64(head))  // #nosec G115 -- not negative
	q.args.U64(uint64(quads)) // #nosec G115 -- not negative
	q.launch(k, line(blocksFor(max(quads, n-4*quads), blockThreads)), threads)
}
