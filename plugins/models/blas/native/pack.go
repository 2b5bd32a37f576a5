package native

// transposeRows and transposeColumns are the size of one step of the transpose kernel.
const (
	transposeRows    = 4
	transposeColumns = 8
)

// pack copies width numbers for each of depth summands into panels of at most panel numbers, one panel after the
// other. In a panel, the numbers of one summand lie side by side, followed by the numbers of the next summand. In
// src, the numbers of a summand also lie side by side. If across is set, each of them lies in its own row instead.
func (w *worker) pack(dst []float32, panel int, src []float32, ld, width, depth int, across bool) {
	if across {
		for i := 0; i < width; i += panel {
			w.packAcross(dst[i*depth:], src[i*ld:], ld, min(panel, width-i), depth)
		}
		return
	}
	// The loop goes row by row through src, which suits the hardware's prefetching.
	for l := range depth {
		row := src[l*ld : l*ld+width]
		for i := 0; i < width; i += panel {
			switch n := min(panel, width-i); n {
			case 32: // a constant length lets the compiler copy without a call
				*(*[32]float32)(dst[i*depth+l*n:]) = [32]float32(row[i:])
			case 12:
				*(*[12]float32)(dst[i*depth+l*n:]) = [12]float32(row[i:])
			default:
				copy(dst[i*depth+l*n:], row[i:i+n])
			}
		}
	}
}

// packAcross packs one panel of width rows of src.
func (w *worker) packAcross(dst, src []float32, ld, width, depth int) {
	i := 0
	if n := depth / transposeColumns * transposeColumns; w.transpose != nil && n > 0 {
		for ; i+transposeRows <= width; i += transposeRows {
			w.transpose(n, &dst[i], width, &src[i*ld], ld)
			for r := i; r < i+transposeRows; r++ {
				for l := n; l < depth; l++ {
					dst[l*width+r] = src[r*ld+l]
				}
			}
		}
	}
	for ; i < width; i++ {
		for l, x := range src[i*ld : i*ld+depth] {
			dst[l*width+i] = x
		}
	}
}
