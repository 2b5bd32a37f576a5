// Command asm writes the assembly of package vec and its Go declarations. It is a
// module of its own, so that psbench does not depend on the generator.
package main

import . "github.com/mmcloughlin/avo/build"

func main() {
	ConstraintExpr("amd64")
	for _, l := range []level{{name: "AVX2", bytes: 32}, {name: "AVX512", bytes: 64}} {
		l.elementwise()
		l.optimizers()
		l.activations()
		l.reductions()
		l.rows()
		l.copies()
		l.narrowed()
		l.integers()
	}
	Generate()
}
