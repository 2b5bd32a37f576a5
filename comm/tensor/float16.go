package tensor

import "github.com/psbench/psbench/comm/vec"

var float16Element = element{bytes: 2, arithmetic: &float16Arithmetic}

// float16Arithmetic adds pairs of elements in float32 and rounds them to float16. In sums of more parts Wide
// rounds once, at the end.
var float16Arithmetic = Arithmetic{
	Add:     func(dst, src []float32) { vec.AddFloat16(halves(dst), halves(src)) },
	AddBoth: func(a float32, x, y []float32) { vec.AddBothFloat16(a, halves(x), halves(y)) },
	Scale:   func(a float32, x []float32) { vec.ScaleFloat16(a, halves(x)) },
	Wide: &Wide{
		Widen:  func(sum, src []float32) { vec.WidenFloat16(sum, halves(src)) },
		Add:    func(sum, src []float32) { vec.AddWidenedFloat16(sum, halves(src)) },
		Narrow: func(dst []float32, a float32, sum []float32) { vec.NarrowFloat16(halves(dst), a, sum) },
	},
}
