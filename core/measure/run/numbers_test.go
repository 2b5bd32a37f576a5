package run

import (
	"fmt"
	"io"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/internal/metric"
	"github.com/psbench/psbench/internal/packed"
)

var (
	inBytes = metric.Head{Type: "a", Name: "b", Unit: "B"}
	inRows  = metric.Head{Type: "a", Name: "b", Unit: "rows"}
)

func histogram(h metric.Head, bounds ...float64) *record.Histogram {
	return &record.Histogram{Head: h, Histogram: metric.NewHistogram(bounds)}
}

// If a process declares the same type and name in two ways, or sends a sum twice, the run ends with an error. A metric
// that comes in pieces may come in any number of them.
func TestWhatIsSentAsTwoThings(t *testing.T) {
	for i, c := range []struct {
		pieces []record.Piece
		want   string
	}{
		{[]record.Piece{&record.Counter{Head: inBytes}, &record.Gauge{Head: inBytes}},
			"trainer0 sent a, b as a counter in B, and also as a gauge in B"},
		{[]record.Piece{&record.Gauge{Head: inBytes}, &record.Gauge{Head: inRows}},
			"trainer0 sent a, b as a gauge in B, and also as a gauge in rows"},
		{[]record.Piece{&record.Series{Type: "a", Name: "b"}, histogram(inRows, 1)},
			"trainer0 sent a, b as a series, and also as a histogram in rows"},
		{[]record.Piece{histogram(inRows, 1), histogram(inRows, 1, 2)},
			"trainer0 sent a, b twice, a histogram in rows"},
		{[]record.Piece{&record.Counter{Head: inRows}, &record.Counter{Head: inRows}},
			"trainer0 sent a, b twice, a counter in rows"},
		{[]record.Piece{
			&record.Gauge{Head: inRows}, &record.Gauge{Head: inRows}, &record.Series{Type: "a", Name: "c"},
			&record.Series{Type: "a", Name: "c"},
			&record.Counter{Head: metric.Head{Type: "b", Name: "b", Unit: "1"}},
		}, ""},
	} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, _, err := collecting((*run).collect, &recorded{end: io.EOF},
					&recorded{pieces: c.pieces, pause: time.Millisecond, end: io.EOF})
				if (err == nil) != (c.want == "") || err != nil && err.Error() != c.want {
					t.Errorf("got %v, want %s", err, c.want)
				}
			})
		})
	}
}

// The result joins the records of all processes of a rank. Facts that parts report after the pass are added to their
// earlier facts and replace those of the same name.
func TestNumbersOfARank(t *testing.T) {
	var list packed.List[packed.Observation]
	list.Add(packed.Observation{A: 1, Value: 0.5})
	pieces := []record.Piece{
		&record.Counter{Head: inBytes, Value: 5}, &record.Gauge{Head: inRows, Observations: list.Chunks()[0]},
		histogram(inBytes, 1), record.Facts{"dropped": "3", "blas": "late"},
	}
	var res result.Result
	for _, rank := range []int{0, 0, 1} {
		t.Run(fmt.Sprint(rank), func(t *testing.T) {
			p := &process{rank: rank, facts: map[string]string{"blas": "early", "engine": "x"}}
			p.collected.pieces = pieces
			addNumbers(&res, p)
			if d := cmp.Diff(map[string]string{"dropped": "3", "blas": "late", "engine": "x"}, factsOf(p)); d != "" ||
				p.facts["blas"] != "early" {
				t.Error(d)
			}
		})
	}
	if d := cmp.Diff([]result.Counter{{Rank: 0, Head: inBytes, Value: 10}, {Rank: 1, Head: inBytes, Value: 5}},
		res.Counters); d != "" {
		t.Error(d)
	}
	if len(res.Gauges) != 2 || res.Gauges[0].Len() != 2 || res.Gauges[1].Len() != 1 || len(res.Histograms) != 2 {
		t.Errorf("there are %v and %v", res.Gauges, res.Histograms)
	}
	if got := factsOf(&process{collected: collected{pieces: pieces}}); got["dropped"] != "3" {
		t.Errorf("without facts from before there are %v", got)
	}
}
