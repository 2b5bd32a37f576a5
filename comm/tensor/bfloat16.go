package tensor

import "github.com/psbench/psbench/comm/vec"

var bfloat16Element = element{bytes: 2, arithmetic: &bfloat16Arithmetic}

// bfloat16Arithmetic adds pairs of elements in float32 and rounds them to bfloat16. In sums of more parts Wide
// rounds once, at the end.
var bfloat16Arithmetic = Arithmetic{
	Add:     func(dst, src []float32) { vec.AddBFloat16(halves(dst), halves(src)) },
	AddBoth: func(a float32, x, y []float32) { vec.AddBothBFloat16(a, halves(x), halves(y)) },
	Scale:   func(a float32, x []float32) { vec.ScaleBFloat16(a, halves(x)) },
	Wide: &Wide{
		Widen:  func(sum, src []float32) { vec.WidenBFloat16(sum, halves(src)) },
		Add:    func(sum, src []float32) { vec.AddWidenedBFloat16(sum, halves(src)) },
		Narrow: func(dst []float32, a float32, sum []float32) { vec.NarrowBFloat16(halves(dst), a, sum) },
	},
}
