package view

import (
	"path/filepath"
	"testing"

	"github.com/psbench/psbench/core/record/folder"
	"github.com/psbench/psbench/core/record/result"
)

// The details of a run state why repeated runs may differ.
func TestArrivalOrder(t *testing.T) {
	r, err := folder.Read(recordedDLRM)
	if err != nil {
		t.Fatal(err)
	}
	r.ArrivalOrder = "the loss depends on the order of arrival: server average combines gradients as they arrive"
	file := filepath.Join(t.TempDir(), "run.json")
	if err := result.Write(file, r, func() {}); err != nil {
		t.Fatal(err)
	}
	if d := documentOf(t, file).Details; len(d) != 1 || d[0].ArrivalOrder != r.ArrivalOrder {
		t.Errorf("%+v", d)
	}
}
