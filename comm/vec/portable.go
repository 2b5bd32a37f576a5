package vec

import "math"

// What the kernels compute, in plain Go.

func addPortable(dst, src []float32) {
	for i, v := range src {
		dst[i] += v
	}
}

func addBothPortable(a float32, x, y []float32) {
	for i, v := range y {
		sum := float32(x[i]+v) * a
		x[i], y[i] = sum, sum
	}
}

func scalePortable(a float32, x []float32) {
	for i := range x {
		x[i] *= a
	}
}

func axpyPortable(a float32, x, y []float32) {
	for i, v := range x {
		y[i] += a * v
	}
}

func dotPortable(x, y []float32) float32 {
	var a, b, c, d float64 // four sums, because one would wait for itself
	for len(x) >= 4 && len(y) >= 4 {
		a += float64(x[0]) * float64(y[0])
		b += float64(x[1]) * float64(y[1])
		c += float64(x[2]) * float64(y[2])
		d += float64(x[3]) * float64(y[3])
		x, y = x[4:], y[4:]
	}
	for i, v := range x {
		a += float64(v) * float64(y[i])
	}
	return float32((a + b) + (c + d))
}

func sgdPortable(w, g []float32, lr, weightDecay float32) {
	for i, d := range g {
		w[i] -= lr * (d + weightDecay*w[i])
	}
}

func momentumPortable(w, g, v []float32, lr, momentum, weightDecay float32) {
	for i, d := range g {
		d += weightDecay * w[i]
		v[i] = momentum*v[i] + d
		w[i] -= lr * v[i]
	}
}

func nesterovPortable(w, g, v []float32, lr, momentum, weightDecay float32) {
	for i, d := range g {
		d += weightDecay * w[i]
		v[i] = momentum*v[i] + d
		w[i] -= lr * (momentum*v[i] + d)
	}
}

func adamPortable(w, g, m, v []float32, f *[8]float32) {
	decay, keep1, take1, keep2, take2, root, epsilon, step := f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7]
	for i, d := range g {
		d += decay * w[i]
		m[i] = keep1*m[i] + take1*d
		v[i] = keep2*v[i] + take2*(d*d)
		w[i] -= step * m[i] / (root*sqrt(v[i]) + epsilon)
	}
}

func adagradPortable(w, g, s []float32, lr, epsilon float32) {
	for i, d := range g {
		s[i] += d * d
		w[i] -= lr * d / (sqrt(s[i]) + epsilon)
	}
}

// sqrt is rounded once: the compiler makes one float32 instruction of it.
func sqrt(x float32) float32 { return float32(math.Sqrt(float64(x))) }

func gatherSumPortable(dst, table []float32, rows []int64) {
	clear(dst)
	for _, row := range rows {
		at := int(row) * len(dst)
		addPortable(dst, table[at:at+len(dst)])
	}
}

func gatherRowsPortable(dst, table []float32, width int, rows []int64) {
	for i, row := range rows {
		at := int(row) * width
		copy(dst[i*width:(i+1)*width], table[at:])
	}
}

func scatterAxpyPortable(a float32, src, table []float32, width int, rows []int32) {
	for i, row := range rows {
		at := int(row) * width
		axpyPortable(a, src[i*width:(i+1)*width], table[at:at+width])
	}
}

// largestPortable is -Inf for no elements.
func largestPortable(x []float32) float32 {
	top := float32(math.Inf(-1))
	for _, v := range x {
		top = max(top, v)
	}
	return top
}

// expSumPortable replaces each element by exp(x[i] - top) and returns their sum.
func expSumPortable(x []float32, top float32) float32 {
	var sum float64
	for i, v := range x {
		e := math.Exp(float64(v - top))
		sum += e
		x[i] = float32(e)
	}
	return float32(sum)
}

func centrePortable(dx, dy, y []float32, dot float32) {
	for i, v := range y {
		dx[i] = v * (dy[i] - dot)
	}
}

func reluPortable(x []float32) {
	for i, v := range x {
		x[i] = max(v, 0)
	}
}

func reluGradientPortable(gradient, y []float32) {
	for i, v := range y {
		if v == 0 {
			gradient[i] = 0
		}
	}
}
