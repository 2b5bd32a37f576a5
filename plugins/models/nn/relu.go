package nn

// ReLU replaces every negative element of x by 0.
func ReLU(x []float32) {
	for i, v := range x {
		x[i] = max(v, 0)
	}
}

// ReLUGradient clears the elements of gradient where y, which ReLU wrote, is 0. Both
// have the same length.
func ReLUGradient(gradient, y []float32) {
	for i, v := range y {
		if v == 0 {
			gradient[i] = 0
		}
	}
}
