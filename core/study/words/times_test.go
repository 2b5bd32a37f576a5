package words

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/core/study/model/modeltest"
	"github.com/psbench/psbench/internal/golden"
)

// The time of a cell is the median of its runs. Its straggler is the trainer that was last in most runs.
func TestTimes(t *testing.T) {
	s := modeltest.Speeds(map[string]float64{"average": 1000, "batch": 900, "sum": 800},
		func(server string, p *modeltest.Plot) {
			if p.Runs = 3; server == "sum" {
				p.Runs = 0
			}
		})
	for i, c := range s.Cells {
		for k, r := range c.Runs {
			for place, m := range model.TimeMetrics[:len(model.TimeMetrics)-1] {
				r.Values[m.Metric] = float64(place) + float64(k*k)/10
			}
			if i == 1 { // this cell ran on several hosts
				r.BoundMS = 0.0876 / float64(k+1)
			}
			switch {
			case i == 0: // this cell has no straggler
			case k < 2:
				r.Straggler = &model.Straggler{Rank: 1, Share: 0.5 + float64(k)/10, CostMS: 2 + float64(k),
					Host: "node2"}
			default:
				r.Straggler = &model.Straggler{Rank: 0, Share: 0.9, CostMS: 90, Host: fmt.Sprintf("node%d", k)}
			}
		}
	}
	var out bytes.Buffer
	if err := WriteStudy(&out, s, Options{Full: true}); err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(out.String(), "ms per iteration")
	table, _, _ := strings.Cut(rest, "\n\n")
	golden.Require(t, filepath.Join("testdata", "times.txt"), "ms per iteration"+table+"\n")
}
