package native

import "unsafe"

// portable holds kernels in Go. The kernels keep four sums, because compilers find too few registers for many more
// sums and the factors.
var portable = kernels{tile: tileGo, rows: 4, columns: 4, dot: dotGo, dotRows: 4, few: 8, inPlaceRows: 8}

type four = [4]float32

func tileGo(rows, k int, a, b *float32, ldb int, alpha, beta float32, c *float32, ldc int) {
	for i := range rows {
		sums := tileRow(k, at(a, i), rows, b, ldb)
		write(unsafe.Slice(at(c, i*ldc), 4), sums, alpha, beta)
	}
}

// tileRow returns the sums of a row of a with four columns of b. The numbers of the row are stride apart.
func tileRow(k int, a *float32, stride int, b *float32, ldb int) four {
	var s0, s1, s2, s3 float32
	for l := range k {
		x, y := *at(a, l*stride), (*four)(unsafe.Pointer(at(b, l*ldb)))
		s0 += x * y[0]
		s1 += x * y[1]
		s2 += x * y[2]
		s3 += x * y[3]
	}
	return four{s0, s1, s2, s3}
}

func dotGo(rows, columns, k int, a *float32, lda int, b *float32, ldb int, alpha, beta float32, c *float32, ldc int) {
	for i := range rows {
		var sums four
		if columns == 1 {
			sums[0] = dotOne(k, at(a, i*lda), b)
		} else {
			sums = dotFour(k, at(a, i*lda), b, ldb)
		}
		write(unsafe.Slice(at(c, i*ldc), columns), sums, alpha, beta)
	}
}

// dotFour returns the sums of a row of a with four rows of b.
func dotFour(k int, a, b *float32, ldb int) four {
	var s0, s1, s2, s3 float32
	b1, b2, b3 := at(b, ldb), at(b, 2*ldb), at(b, 3*ldb)
	for l := range k {
		x := *at(a, l)
		s0 += x * *at(b, l)
		s1 += x * *at(b1, l)
		s2 += x * *at(b2, l)
		s3 += x * *at(b3, l)
	}
	return four{s0, s1, s2, s3}
}

// dotOne returns the sum of a row of a with one row of b.
func dotOne(k int, a, b *float32) (sum float32) {
	for l := range k {
		sum += *at(a, l) * *at(b, l)
	}
	return sum
}

// write puts sums into c. write writes only as many as c holds.
func write(c []float32, sums four, alpha, beta float32) {
	for j := range c {
		if beta == 0 {
			c[j] = alpha * sums[j]
		} else {
			c[j] = alpha*sums[j] + beta*c[j]
		}
	}
}

// at returns the address of element i of x.
func at(x *float32, i int) *float32 {
	return (*float32)(unsafe.Add(unsafe.Pointer(x), uintptr(i)*unsafe.Sizeof(*x)))
}
