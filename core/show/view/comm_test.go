package view

import (
	"path/filepath"
	"strconv"
	"testing"

	"github.com/psbench/psbench/core/measure/micro"
	"github.com/psbench/psbench/core/record/folder"
)

// The page shows a void row with the reason, and its cell as failed. The row's bandwidth is ignored.
func TestVoidRow(t *testing.T) {
	const wrong = "trainer1 got 3 instead of 4"
	r, err := micro.ReadFolder(recordedComm)
	if err != nil {
		t.Fatal(err)
	}
	r.Rows[0].Mismatch = wrong
	dir := filepath.Join(t.TempDir(), "void")
	f, err := folder.Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Write(r); err != nil {
		t.Fatal(err)
	}
	d := documentOf(t, dir)
	void := 0
	for i, c := range d.Cells {
		if c.State == Failed {
			void++
			if c.Reason != wrong || len(c.Runs) != 0 || d.Judged[d.Metric].Estimates[i] != nil {
				t.Errorf("%+v", c)
			}
		}
	}
	for _, row := range d.Comm.Rows {
		values := d.Cells[row.Cell].Values // operation, transport, bytes
		if values[0] != row.Operation || values[1] != row.Transport || values[2] != strconv.Itoa(row.Bytes) {
			t.Errorf("%+v is one of the cell %q", row, values)
		}
	}
	if void != 1 || d.Comm.Rows[0].Void != wrong || len(d.Comm.Rows) != 16 || d.Comm.Rows[1].Void != "" {
		t.Errorf("%d cells failed; %+v", void, d.Comm.Rows[0])
	}
}
