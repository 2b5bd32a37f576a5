package tensor_test

import (
	"strconv"
	"testing"

	"github.com/psbench/psbench/comm/tensor"
)

func TestCheckRows(t *testing.T) {
	const right = ": rows must ascend within a table of 10"
	for i, c := range []struct {
		rows []int32
		want string
	}{
		{nil, ""},
		{[]int32{0, 3, 9}, ""},
		{[]int32{-1, 3}, "row -1 at place 0, which is below row 0" + right},
		{[]int32{3, -2}, "row -2 at place 1, which is below row 0" + right},
		{[]int32{3, 4, 4}, "row 4 at place 2, which is not above row 4 before it" + right},
		{[]int32{3, 2}, "row 2 at place 1, which is not above row 3 before it" + right},
		{[]int32{3, 10}, "row 10 at place 1, which is beyond the last row" + right},
	} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			got := ""
			if err := tensor.CheckRows(c.rows, 10); err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("%v: got %q, want %q", c.rows, got, c.want)
			}
		})
	}
}
