package config

import (
	"testing"

	"github.com/psbench/psbench/core/plan/config/option"
)

// A list that is advised has the items that were meant, or there is none.
func TestListOf(t *testing.T) {
	for _, c := range []struct {
		value any
		want  string
	}{
		{option.Text("64"), "[64]"},
		{option.Text("64, 128"), "[64,128]"},
		{option.Text("64 128"), "[64,128]"},
		{option.Text("64;128"), "[64,128]"},
		{option.Text(" 64; 1e2 ,.5 "), "[64,1e2,0.5]"},
		{option.Text("a,b"), `["a","b"]`},
		{option.Text("64,x"), `[64,"x"]`},
		{option.Text("64;x"), ""},
		{option.Text("64 x"), ""},
		{option.Text("a b,c"), ""},
		{option.Text(";"), ""},
		{option.Text("[1"), ""},
		{option.Text("null"), ""},
		{option.Text(" "), ""},
		{"64;128", "[64,128]"},
		{64, ""},
	} {
		if got := listOf(c.value); got != c.want {
			t.Errorf("of %q it is %q, not %q", c.value, got, c.want)
		}
	}
}
