//go:build 386 || amd64 || arm || arm64 || loong64 || mips64le || mipsle || ppc64le || riscv64

package tensor

import "unsafe"

// The wire is little-endian and these views do not convert, so the package
// builds for little-endian processors only; the build constraint says so.

// Float32Bytes is x as the bytes in its memory, without a copy.
func Float32Bytes(x []float32) []byte { return bytesOf(x) }

// Int32Bytes is x as the bytes in its memory, without a copy.
func Int32Bytes(x []int32) []byte { return bytesOf(x) }

// Int64Bytes is x as the bytes in its memory, without a copy.
func Int64Bytes(x []int64) []byte { return bytesOf(x) }

// ViewFloat32 is the inverse of Float32Bytes: b, whose address must be a multiple of
// 4, as len(b)/4 values.
func ViewFloat32(b []byte) []float32 { return ViewOf[float32](b, len(b)/4) }

// ViewInt64 is the inverse of Int64Bytes: b, whose address must be a multiple of 8,
// as len(b)/8 values.
func ViewInt64(b []byte) []int64 { return ViewOf[int64](b, len(b)/8) }

// ViewOf is the first n elements of at, without a copy; at must be aligned for them.
func ViewOf[T float32 | int32 | int64](at []byte, n int) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(at))), n)[:n:n]
}

func bytesOf[T float32 | float64 | int32 | int64](x []T) []byte {
	var one T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*int(unsafe.Sizeof(one)))
}

// As returns the elements that lie in words of 4 bytes, without a copy: uint16 for Float16 and BFloat16. The words
// of 8-byte elements must begin at a multiple of 8 bytes. Elements that do not fill a word are left out.
func As[T float32 | uint16 | int32 | int64 | int8 | uint8](words []float32) []T {
	var one T
	n := 4 * len(words) / int(unsafe.Sizeof(one))
	if n == 0 {
		return nil // a pointer to no words may lie at the end of their memory
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(words))), n)[:n:n]
}

func halves(words []float32) []uint16 { return As[uint16](words) }

// SameValues says whether the values of g and other lie in the same memory, however long
// they are.
func (g *Gradient) SameValues(other *Gradient) bool {
	return unsafe.SliceData(g.Values) == unsafe.SliceData(other.Values)
}

// SameStorage says whether values and rows of g and other lie in the same memory, however
// long they are.
func (g *Gradient) SameStorage(other *Gradient) bool {
	return g.SameValues(other) && unsafe.SliceData(g.Rows) == unsafe.SliceData(other.Rows)
}

// SameData says whether t and other are the same elements of memory.
func (t Tensor) SameData(other Tensor) bool {
	return len(t.Data) == len(other.Data) && unsafe.SliceData(t.Data) == unsafe.SliceData(other.Data)
}
