package tensor

import "github.com/psbench/psbench/comm/vec"

var int32Element = element{bytes: 4, arithmetic: &int32Arithmetic}

// int32Arithmetic wraps modulo 2^32.
var int32Arithmetic = Arithmetic{
	Add: func(dst, src []float32) { vec.AddInt32(As[int32](dst), As[int32](src)) },
	AddBoth: func(_ float32, x, y []float32) {
		vec.AddInt32(As[int32](x), As[int32](y))
		copy(y, x)
	},
}
