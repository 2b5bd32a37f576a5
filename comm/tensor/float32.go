package tensor

import "github.com/psbench/psbench/comm/vec"

var float32Element = element{bytes: 4, arithmetic: &float32Arithmetic}

// float32Arithmetic rounds after each addition, from left to right.
var float32Arithmetic = Arithmetic{Add: vec.Add, AddBoth: vec.AddBoth, Scale: vec.Scale}
