package spelling

import "testing"

func TestNearest(t *testing.T) {
	candidates := []string{"average", "average_batch", "noop", "sparse_rpc"}
	for name, want := range map[string]string{
		"averge": "average", "AVERAGE": "average", "avrage_batch": "average_batch", "sparse-rpc": "sparse_rpc",
		"nop": "noop", "elephant": "", "": "", "x": "",
	} {
		if got := Nearest(name, candidates); got != want {
			t.Errorf("the nearest to %q is %q, want %q", name, got, want)
		}
	}
}
