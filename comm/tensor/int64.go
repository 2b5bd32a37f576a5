package tensor

import "github.com/psbench/psbench/comm/vec"

var int64Element = element{bytes: 8, arithmetic: &int64Arithmetic}

// int64Arithmetic wraps modulo 2^64. An element lies in two words.
var int64Arithmetic = Arithmetic{
	Add: func(dst, src []float32) { vec.AddInt64(As[int64](dst), As[int64](src)) },
	AddBoth: func(_ float32, x, y []float32) {
		vec.AddInt64(As[int64](x), As[int64](y))
		copy(y, x)
	},
}
