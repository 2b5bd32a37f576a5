package spelling

import (
	"fmt"
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	candidates := []string{"average", "average_batch", "noop", "sparse_rpc"}
	for name, want := range map[string]string{
		"averge": "average", "AVERAGE": "average", "avrage_batch": "average_batch", "sparse-rpc": "sparse_rpc",
		"nop": "noop", "elephant": "", "": "", "x": "",
	} {
		t.Run(name, func(t *testing.T) {
			if got := Nearest(name, candidates); got != want {
				t.Errorf("the nearest to %q is %q, want %q", name, got, want)
			}
		})
	}
}

func TestHint(t *testing.T) {
	var many []string
	for i := range 40 {
		many = append(many, fmt.Sprintf("setting_%d", i))
	}
	many = append(many, "bucket_bytes", "held_out_loss", "held_out_auc")
	for name, c := range map[string]struct {
		name      string
		known     []string
		noun, all string
		want      string
	}{
		"near": {"averge", []string{"average", "noop"}, "keys", "", `; did you mean "average"?`},
		"few": {"x", []string{"average", "noop"}, "keys", "psbench list shows all",
			"; the keys are average, noop"},
		"few, no noun":  {"x", []string{"average", "noop"}, "", "", "; there are average, noop"},
		"none":          {"x", nil, "keys", "", "; there are no keys"},
		"none, no noun": {"x", nil, "", "", "; there are none"},
		"many": {"held", many, "keys", "psbench config shows all",
			"; the nearest of 43 keys are held_out_auc, held_out_loss, setting_0, setting_1, setting_2; psbench config shows all"},
		"many, near": {"bucket_byte", many, "keys", "psbench config shows all", `; did you mean "bucket_bytes"?`},
		"many, no noun": {"", many, "", "",
			"; the nearest of 43 are setting_0, setting_1, setting_2, setting_3, setting_4"},
		"a flood": {strings.Repeat("x", 1e6), many, "keys", "",
			"; the nearest of 43 keys are setting_0, setting_1, setting_2, setting_3, setting_4"},
		"hostile names": {"x", []string{"a\x1b[2Jb"}, "keys", "", `; the keys are a\x1b[2Jb`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Hint(c.name, c.known, c.noun, c.all); got != c.want {
				t.Errorf("%s: %s\nwant %s", name, got, c.want)
			}
		})
	}
}
