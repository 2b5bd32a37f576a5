package companion

import (
	"cmp"

	"github.com/psbench/psbench/internal/host/batches"
	"github.com/psbench/psbench/internal/host/call"
	"github.com/psbench/psbench/sdk"
)

// CallMemory is how many bytes each side of a call link needs for what a model with
// these inputs gets for the largest of the batches with these lengths, whose targets have a width: the batch
// itself, its features looked up or its own, and the gradient of those; or for the output with
// the targets. Every row of the model's input has its target in the batch.
func CallMemory(sizes []batches.Lengths, in sdk.InputSpec, width int) int {
	n := int64(1)
	columns := int64(max(in.Classes, in.Outputs))
	for _, l := range sizes {
		rows := l[2] / max(1, int64(in.Targets))
		if width > 0 {
			rows = l[4] / int64(cmp.Or(in.Outputs, width))
		}
		if call.Fits(rows, int64(in.Features)) {
			l[3] = rows * int64(in.Features)
		}
		n = max(n, 8*batches.Lists+l.Bytes())
		if call.Fits(rows, columns) {
			n = max(n, 4*rows*columns+8*l[2]+4*l[4])
		}
	}
	return int(n)
}
