package words

import (
	"bytes"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/psbench/psbench/core/measure/micro"
	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/core/study/model/modeltest"
	"github.com/psbench/psbench/core/study/verdict"
	"github.com/psbench/psbench/internal/golden"
)

// ladderOf returns a study of psbench comm. It has two operations at three sizes, a barrier, and an operation that was
// measured in only one way. Each result is slightly slower than the previous one.
func ladderOf(t *testing.T, results int) *model.Study {
	t.Helper()
	var paths []string
	for k := range results {
		r := &micro.Result{Schema: micro.Schema, Complete: true, Limits: []micro.Limit{}, Command: []string{"psbench"}}
		add := func(operation, transport string, size int, us float64) {
			us *= 1 + 0.01*float64(k)
			r.Rows = append(r.Rows, &micro.Row{
				Operation: operation, Transport: transport, Trainers: 2, Mode: micro.Fresh, Place: micro.InPlace,
				Bytes:    size,
				Verified: micro.NoRound, LatenciesUS: [][]float64{{us, us}}, P50US: us,
			})
		}
		add("barrier", "shm", 0, 2)
		for i, size := range []int{4096, 1 << 20, 16 << 20} {
			slow := []float64{5, 2, 1.001}[i] // so that nothing is proven at the largest size
			for _, operation := range []string{"pushpull", "allreduce"} {
				add(operation, "shm", size, float64(10*size/4096))
				add(operation, "tcp", size, slow*float64(10*size/4096))
			}
			add("broadcast", "tcp", size, 7)
		}
		paths = append(paths, modeltest.Wrote(t, r))
	}
	s, err := model.Load(paths)
	if err != nil {
		t.Fatal(err)
	}
	s.Name = "ladder"
	return s
}

// Each size of psbench comm is compared only with the same size. Each operation gets one sentence.
func TestSizesAreApart(t *testing.T) {
	for name, results := range map[string]int{"sizes": 10, "sizesfew": 1} {
		t.Run(name, func(t *testing.T) {
			s := ladderOf(t, results)
			var out bytes.Buffer
			if err := WriteStudy(&out, s, Options{Full: true}); err != nil {
				t.Fatal(err)
			}
			golden.Require(t, filepath.Join("testdata", name+".txt"), out.String())
			m, err := s.MetricOr("")
			if err != nil {
				t.Fatal(err)
			}
			at := s.WithinAt()
			for baseline, b := range s.Cells {
				for _, row := range verdict.NewJudge(s, m).Against(baseline).Rows {
					from := s.Counterpart(row.Cell, b)
					if row.Compared != (from != nil && from != row.Cell) ||
						from != nil && from.Values[at] != row.Cell.Values[at] {
						t.Errorf("against %s the cell %s is compared with %v", b.Name, row.Cell.Name, from)
					}
				}
			}
		})
	}
}

func TestMetricThatNoRunHas(t *testing.T) {
	s := ladderOf(t, 1)
	_, err := s.MetricOr(model.Throughput)
	if want := "no run has the metric throughput; the metrics that they have are comm_time, comm_time_p95"; err ==
		nil ||
		err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if _, err := s.MetricOr("thruput"); err == nil || !strings.Contains(err.Error(), "did you mean") {
		t.Error(err)
	}
	if _, err := model.MetricFor(model.Throughput, s, s); err == nil {
		t.Error("two of them are compared by what none has")
	}
	// A study accepts its own metric. Without runs it accepts any metric.
	s.Metric = model.P99
	for i, of := range []*model.Study{s, {Name: "none"}} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			if m, err := of.MetricOr(model.P99); err != nil || m.Name != model.P99 {
				t.Errorf("%s: %v, %v", of.Name, m, err)
			}
		})
	}
}
