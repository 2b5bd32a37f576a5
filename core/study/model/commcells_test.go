package model

import (
	"testing"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/core/measure/micro"
)

// A row belongs to the cell of its own element type alone.
func TestCellsOfTypes(t *testing.T) {
	rows := []*micro.Row{{Operation: "allreduce", Bytes: 64}, {Operation: "allreduce", Bytes: 64, DType: tensor.BFloat16}}
	for i, row := range rows {
		c := &Cell{Config: map[string]string{}, Runs: []*Run{{Folder: "f"}}}
		for _, kv := range configOf(row) {
			c.Config[kv[0]] = kv[1]
		}
		for k, other := range rows {
			if got := c.HasRow("f", other); got != (i == k) {
				t.Errorf("the cell of row %d has row %d: %v", i, k, got)
			}
		}
	}
}
