package vec

import "github.com/psbench/psbench/internal/simd"

// A switch, because a call through a variable would make every slice escape to the heap.

func add(dst, src []float32) {
	switch level {
	case simd.AVX512:
		addAVX512(dst, src)
	case simd.AVX2:
		addAVX2(dst, src)
	default:
		addPortable(dst, src)
	}
}

func addBoth(a float32, x, y []float32) {
	switch level {
	case simd.AVX512:
		addBothAVX512(a, x, y)
	case simd.AVX2:
		addBothAVX2(a, x, y)
	default:
		addBothPortable(a, x, y)
	}
}

func scale(a float32, x []float32) {
	switch level {
	case simd.AVX512:
		scaleAVX512(a, x)
	case simd.AVX2:
		scaleAVX2(a, x)
	default:
		scalePortable(a, x)
	}
}

func axpy(a float32, x, y []float32) {
	switch level {
	case simd.AVX512:
		axpyAVX512(a, x, y)
	case simd.AVX2:
		axpyAVX2(a, x, y)
	default:
		axpyPortable(a, x, y)
	}
}

func dot(x, y []float32) float32 {
	switch level {
	case simd.AVX512:
		return dotAVX512(x, y)
	case simd.AVX2:
		return dotAVX2(x, y)
	default:
		return dotPortable(x, y)
	}
}

func sgd(w, g []float32, lr, weightDecay float32) {
	switch level {
	case simd.AVX512:
		sgdAVX512(w, g, lr, weightDecay)
	case simd.AVX2:
		sgdAVX2(w, g, lr, weightDecay)
	default:
		sgdPortable(w, g, lr, weightDecay)
	}
}

func momentum(w, g, v []float32, lr, momentum, weightDecay float32) {
	switch level {
	case simd.AVX512:
		momentumAVX512(w, g, v, lr, momentum, weightDecay)
	case simd.AVX2:
		momentumAVX2(w, g, v, lr, momentum, weightDecay)
	default:
		momentumPortable(w, g, v, lr, momentum, weightDecay)
	}
}

func nesterov(w, g, v []float32, lr, momentum, weightDecay float32) {
	switch level {
	case simd.AVX512:
		nesterovAVX512(w, g, v, lr, momentum, weightDecay)
	case simd.AVX2:
		nesterovAVX2(w, g, v, lr, momentum, weightDecay)
	default:
		nesterovPortable(w, g, v, lr, momentum, weightDecay)
	}
}

func adam(w, g, m, v []float32, f *[8]float32) {
	switch level {
	case simd.AVX512:
		adamAVX512(w, g, m, v, f)
	case simd.AVX2:
		adamAVX2(w, g, m, v, f)
	default:
		adamPortable(w, g, m, v, f)
	}
}

func adagrad(w, g, s []float32, lr, epsilon float32) {
	switch level {
	case simd.AVX512:
		adagradAVX512(w, g, s, lr, epsilon)
	case simd.AVX2:
		adagradAVX2(w, g, s, lr, epsilon)
	default:
		adagradPortable(w, g, s, lr, epsilon)
	}
}

func gatherSum(dst, table []float32, rows []int64) {
	switch level {
	case simd.AVX512:
		gatherSumAVX512(dst, table, rows)
	case simd.AVX2:
		gatherSumAVX2(dst, table, rows)
	default:
		gatherSumPortable(dst, table, rows)
	}
}

func gatherRows(dst, table []float32, width int, rows []int64) {
	switch level {
	case simd.AVX512:
		gatherRowsAVX512(dst, table, width, rows)
	case simd.AVX2:
		gatherRowsAVX2(dst, table, width, rows)
	default:
		gatherRowsPortable(dst, table, width, rows)
	}
}

func scatterAxpy(a float32, src, table []float32, width int, rows []int32) {
	switch level {
	case simd.AVX512:
		scatterAxpyAVX512(a, src, table, width, rows)
	case simd.AVX2:
		scatterAxpyAVX2(a, src, table, width, rows)
	default:
		scatterAxpyPortable(a, src, table, width, rows)
	}
}

func largest(x []float32) float32 {
	switch level {
	case simd.AVX512:
		return largestAVX512(x)
	case simd.AVX2:
		return largestAVX2(x)
	default:
		return largestPortable(x)
	}
}

func expSum(x []float32, top float32) float32 {
	switch level {
	case simd.AVX512:
		return expSumAVX512(x, top)
	case simd.AVX2:
		return expSumAVX2(x, top)
	default:
		return expSumPortable(x, top)
	}
}

func centre(dx, dy, y []float32, dot float32) {
	switch level {
	case simd.AVX512:
		centreAVX512(dx, dy, y, dot)
	case simd.AVX2:
		centreAVX2(dx, dy, y, dot)
	default:
		centrePortable(dx, dy, y, dot)
	}
}

func relu(x []float32) {
	switch level {
	case simd.AVX512:
		reluAVX512(x)
	case simd.AVX2:
		reluAVX2(x)
	default:
		reluPortable(x)
	}
}

func reluGradient(gradient, y []float32) {
	switch level {
	case simd.AVX512:
		reluGradientAVX512(gradient, y)
	case simd.AVX2:
		reluGradientAVX2(gradient, y)
	default:
		reluGradientPortable(gradient, y)
	}
}

func copyPages(dst, src []float32) {
	switch level {
	case simd.AVX512:
		copyPagesAVX512(dst, src)
	case simd.AVX2:
		copyPagesAVX2(dst, src)
	default:
		copy(dst, src)
	}
}
