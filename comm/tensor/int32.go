package tensor

import "github.com/psbench/psbench/comm/vec"

// int32Arithmetic wraps modulo 2^32.
var int32Arithmetic = Arithmetic{
	Add: func(dst, src []float32) { vec.AddInt32(As[int32](dst), As[int32](src)) },
	AddBoth: func(_ float32, x, y []float32) {
		vec.AddInt32(As[int32](x), As[int32](y))
		copy(y, x)
	},
}
