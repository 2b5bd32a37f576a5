//go:build !amd64

package vec

func add(dst, src []float32) { addPortable(dst, src) }

func addBoth(a float32, x, y []float32) { addBothPortable(a, x, y) }

func scale(a float32, x []float32) { scalePortable(a, x) }

func axpy(a float32, x, y []float32) { axpyPortable(a, x, y) }

func dot(x, y []float32) float32 { return dotPortable(x, y) }

func sgd(w, g []float32, lr, weightDecay float32) { sgdPortable(w, g, lr, weightDecay) }

func momentum(w, g, v []float32, lr, momentum, weightDecay float32) {
	momentumPortable(w, g, v, lr, momentum, weightDecay)
}

func nesterov(w, g, v []float32, lr, momentum, weightDecay float32) {
	nesterovPortable(w, g, v, lr, momentum, weightDecay)
}

func adam(w, g, m, v []float32, f *[8]float32) { adamPortable(w, g, m, v, f) }

func adagrad(w, g, s []float32, lr, epsilon float32) { adagradPortable(w, g, s, lr, epsilon) }

func gatherSum(dst, table []float32, rows []int64) { gatherSumPortable(dst, table, rows) }

func gatherRows(dst, table []float32, width int, rows []int64) {
	gatherRowsPortable(dst, table, width, rows)
}

func scatterAxpy(a float32, src, table []float32, width int, rows []int32) {
	scatterAxpyPortable(a, src, table, width, rows)
}

func largest(x []float32) float32 { return largestPortable(x) }

func expSum(x []float32, top float32) float32 { return expSumPortable(x, top) }

func centre(dx, dy, y []float32, dot float32) { centrePortable(dx, dy, y, dot) }

func relu(x []float32) { reluPortable(x) }

func reluGradient(gradient, y []float32) { reluGradientPortable(gradient, y) }

func copyPages(dst, src []float32) { copy(dst, src) }

func widenBFloat16(dst []float32, src []uint16)             { widenBFloat16Portable(dst, src) }
func addWidenedBFloat16(sum []float32, src []uint16)        { addWidenedBFloat16Portable(sum, src) }
func narrowBFloat16(dst []uint16, a float32, src []float32) { narrowBFloat16Portable(dst, a, src) }
func addBFloat16(dst, src []uint16)                         { addBFloat16Portable(dst, src) }
func addBothBFloat16(a float32, x, y []uint16)              { addBothBFloat16Portable(a, x, y) }
func scaleBFloat16(a float32, x []uint16)                   { scaleBFloat16Portable(a, x) }
func widenFloat16(dst []float32, src []uint16)              { widenFloat16Portable(dst, src) }
func addWidenedFloat16(sum []float32, src []uint16)         { addWidenedFloat16Portable(sum, src) }
func narrowFloat16(dst []uint16, a float32, src []float32)  { narrowFloat16Portable(dst, a, src) }
func addFloat16(dst, src []uint16)                          { addFloat16Portable(dst, src) }
func addBothFloat16(a float32, x, y []uint16)               { addBothFloat16Portable(a, x, y) }
func scaleFloat16(a float32, x []uint16)                    { scaleFloat16Portable(a, x) }
func addInt32(dst, src []int32)                             { addIntegersPortable(dst, src) }
func addInt64(dst, src []int64)                             { addIntegersPortable(dst, src) }
