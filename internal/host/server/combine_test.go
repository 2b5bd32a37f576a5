package server

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/host/hosttest"
)

// A server can combine gradients again outside a pass, for each timing. The server refuses lists
// that no trainers can have pushed.
func TestCombinesOnceMore(t *testing.T) {
	for _, timing := range timings {
		t.Run(fmt.Sprint(timing), func(t *testing.T) {
			role, links, _ := openServer(t, "unix", elementwise(timing, mean(2)), []tensor.BucketSpec{denseOf(5)}, 2,
				hosttest.Patience)
			got, unknown, err := role.Combine([][][]float32{{{1, 2}, {3, 4}}, {{8}}})
			if d := cmp.Diff([][]float32{{2, 3}, {4}}, got); d != "" || unknown != "" || err != nil {
				t.Errorf("%s %s %v", d, unknown, err)
			}
			for want, list := range map[string][][]float32{
				"cannot combine 3 gradients":                  {{1}, {2}, {3}},
				"cannot combine 0 gradients":                  {},
				"cannot combine gradients of 1 and 2 element": {{1}, {2, 3}},
			} {
				if _, _, err := role.Combine([][][]float32{list}); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%v is no %q", err, want)
				}
			}
			for _, l := range links {
				_ = l.Close()
			}
		})
	}
}

func TestOthersDoNotSayWhatTheyMake(t *testing.T) {
	if got, unknown, err := new(Role).Combine([][][]float32{{{1}}}); got != nil || unknown == "" || err != nil {
		t.Errorf("%v, %q, %v", got, unknown, err)
	}
}
