package native

// dotColumns is the number of rows of b that the dot kernels process at a time.
const dotColumns = 4

// kernels are the innermost functions of the loops. Strides are in elements.
type kernels struct {
	// tile computes c = alpha*a*b + beta*c for up to rows rows and exactly columns columns of c. The matrix a is
	// packed: for each of the k steps, one number of each row. k is at least 1. With beta 0, tile does not read c.
	tile          func(rows, k int, a, b *float32, ldb int, alpha, beta float32, c *float32, ldc int)
	rows, columns int
	// dot computes c = alpha*a*bᵀ + beta*c for up to dotRows rows of a and 1 or
	// dotColumns rows of b.
	dot func(rows, columns, k int, a *float32, lda int, b *float32, ldb int, alpha, beta float32, c *float32,
		ldc int)
	dotRows int
	// transpose writes n columns of 4 rows of src to dst as n rows of 4. n is a multiple of 8. transpose may be nil.
	transpose func(n int, dst *float32, stride int, src *float32, ld int)
	// few is the largest number of rows of a, or of b, for which a transposed b is not packed; the dot kernel then
	// reads b in place. inPlaceRows is the same limit for rows of a and a b that is not transposed.
	few, inPlaceRows int
}
