package environment

import (
	"fmt"
	"testing"

	"github.com/psbench/psbench/core/record/result"
)

func TestLinks(t *testing.T) {
	var many [][2]string
	for i := range 10 {
		many = append(many, [2]string{fmt.Sprintf("trainer%d", i), "server10"})
	}
	for want, all := range map[string][]result.Links{
		"": nil,
		"shm trainer0-trainer1; tcp trainer0-server3, trainer1-server3": {
			{Transport: "shm", Pairs: [][2]string{{"trainer0", "trainer1"}}},
			{Transport: "tcp", Pairs: [][2]string{{"trainer0", "server3"}, {"trainer1", "server3"}}},
		},
		"tcp trainer0-server10, trainer1-server10, trainer2-server10, trainer3-server10, trainer4-server10, trainer5-server10, trainer6-server10, trainer7-server10, 2 more": {{Transport: "tcp", Pairs: many}},
	} {
		t.Run(fmt.Sprintf("%.60s", want), func(t *testing.T) {
			if got := Links(all); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}
