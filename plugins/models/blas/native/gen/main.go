// Command gen writes the assembly of package native.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/reg"
)

// isa is an instruction set, and the tiles whose sums fit into its registers.
type isa struct {
	name  string
	bytes int // bytes of one vector
	// A tile has tileRows rows of two vectors. A block of dot products has dotRows times dotColumns sums.
	tileRows, dotRows int
}

const (
	tileVectors = 2
	dotColumns  = 4
	float       = 4 // bytes
)

var (
	avx2   = isa{name: "AVX2", bytes: 32, tileRows: 6, dotRows: 3}
	avx512 = isa{name: "AVX512", bytes: 64, tileRows: 12, dotRows: 6}
)

func main() {
	for _, set := range []isa{avx2, avx512} {
		tile(set)
		dot(set)
	}
	transpose()
	Generate()
}

var xmm = []reg.VecPhysical{
	reg.X0, reg.X1, reg.X2, reg.X3, reg.X4, reg.X5, reg.X6, reg.X7,
	reg.X8, reg.X9, reg.X10, reg.X11, reg.X12, reg.X13, reg.X14, reg.X15,
	reg.X16, reg.X17, reg.X18, reg.X19, reg.X20, reg.X21, reg.X22, reg.X23,
	reg.X24, reg.X25, reg.X26, reg.X27, reg.X28, reg.X29, reg.X30, reg.X31,
}

// vector returns register i at its full width.
func (s isa) vector(i int) reg.Register {
	if s.bytes == 64 {
		return xmm[i].AsZ()
	}
	return xmm[i].AsY()
}

// last returns register i counted from the end; lastNumber returns its number.
func (s isa) last(i int) reg.Register { return s.vector(s.lastNumber(i)) }

func (s isa) lastNumber(i int) int { return s.bytes/2 - 1 - i }

func (s isa) zero(n int) {
	for i := range n {
		VXORPS(s.vector(i), s.vector(i), s.vector(i))
	}
}
