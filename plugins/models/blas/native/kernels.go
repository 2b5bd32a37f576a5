package native

// dotColumns is how many rows of b the dot kernels take at a time.
const dotColumns = 4

// kernels is what the loops call at the bottom. Strides are in elements.
type kernels struct {
	// tile computes c = alpha*a*b + beta*c for up to rows rows and exactly columns
	// columns of c. a is packed: one number of each row after the other, k times. k is
	// at least 1. With beta 0, c is only written.
	tile          func(rows, k int, a, b *float32, ldb int, alpha, beta float32, c *float32, ldc int)
	rows, columns int
	// dot computes c = alpha*a*bᵀ + beta*c for up to dotRows rows of a and 1 or
	// dotColumns rows of b.
	dot func(rows, columns, k int, a *float32, lda int, b *float32, ldb int, alpha, beta float32, c *float32,
		ldc int)
	dotRows int
	// transpose writes n columns of 4 rows of src to dst, where they are rows of 4; n is
	// a multiple of 8. It may be nil.
	transpose func(n int, dst *float32, stride int, src *float32, ld int)
	// few is up to how many rows of a, or of b, a transposed b is not packed: the dot
	// kernel takes it as it lies. inPlaceRows is the same for rows of a and a b that is
	// not transposed.
	few, inPlaceRows int
}
