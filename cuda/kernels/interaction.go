//go:build nvidia

package kernels

// Interaction computes nn.Interaction's Forward. Interaction writes y [samples, dim + tables (tables+1) / 2] from
// dense [samples, dim] and rows, which are [tables, dim] for each sample. The rows of successive samples begin
// stride elements apart. Each sample uses one block, and each product one thread, which adds in order. Interaction
// moves 4 bytes per element of y, dense and rows.
func (q *Queue) Interaction(y, dense, rows []float32, tables, dim, stride int) {
	samples := q.interacting("Interaction", len(y), len(dense), len(rows), tables, dim, stride)
	if samples == 0 {
		return
	}
	q.args.Reset()
	q.args.Pointer(pointer(y))
	q.args.Pointer(pointer(dense))
	q.args.Pointer(pointer(rows))
	q.u32(tables)
	q.u32(dim)
	q.args.U64(uint64(stride))                            // #nosec G115 -- not negative
	q.launch(interaction, line(uint32(samples)), threads) // #nosec G115 -- below 2^31
}

// InteractionGradient computes nn.Interaction's Gradient. InteractionGradient overwrites the gradients of dense and
// rows, which have the layout of dense and rows, for dy of the shape of y. InteractionGradient moves 4 bytes per
// element of each argument.
func (q *Queue) InteractionGradient(denseGradient, rowsGradient, dy, dense, rows []float32, tables, dim, stride int) {
	samples := q.interacting("InteractionGradient", len(dy), len(dense), len(rows), tables, dim, stride)
	if samples == 0 || !q.equal("InteractionGradient", "the gradient of dense", len(denseGradient), len(dense)) ||
		!q.atLeast("InteractionGradient", "the gradient of rows", len(rowsGradient), (samples-1)*stride+tables*dim) {
		return
	}
	q.args.Reset()
	q.args.Pointer(pointer(denseGradient))
	q.args.Pointer(pointer(rowsGradient))
	q.args.Pointer(pointer(dy))
	q.args.Pointer(pointer(dense))
	q.args.Pointer(pointer(rows))
	q.u32(tables)
	q.u32(dim)
	q.args.U64(uint64(stride))                                    // #nosec G115 -- not negative
	q.launch(interactionGradient, line(uint32(samples)), threads) // #nosec G115 -- below 2^31
}

// interacting checks sizes and returns the number of samples, or 0 if there is nothing to do or an error.
func (q *Queue) interacting(call string, y, dense, rows, tables, dim, stride int) int {
	samples := q.rows(call, "dense", dense, dim)
	if samples == 0 || tables < 0 || !q.equal(call, "y", y, samples*(dim+tables*(tables+1)/2)) ||
		!q.atLeast(call, "stride", stride, tables*dim) ||
		!q.atLeast(call, "rows", rows, (samples-1)*stride+tables*dim) {
		return 0
	}
	return samples
}
