package protocol

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/wire"
	"github.com/psbench/psbench/internal/host/protocol/protocoltest"
	"github.com/psbench/psbench/sdk"
)

// exchangeOf returns the gradients of two trainers. The question is about the second trainer.
func exchangeOf(spec tensor.BucketSpec) *sdk.Exchange {
	x := &sdk.Exchange{Batch: 4, Bucket: spec, Rank: 1, Partners: []int{1}}
	for rank := range 2 {
		g := tensor.NewGradient(spec)
		if spec.Sparse {
			_ = g.SetRows(2)
			g.Rows[0], g.Rows[1] = int32(rank), 9 // #nosec G115 -- two ranks
		}
		for i := range g.Values {
			g.Values[i] = float32(rank + 1)
		}
		x.Gradients = append(x.Gradients, &g)
	}
	return x
}

// A part sees all trainers' gradients and may change them. The part writes the answer, or names the
// operation that computes it.
func TestPartsAreAskedWhatTheyAnswer(t *testing.T) {
	dense, sparse := bucketsOf(3)[0], bucketsOf(3)[1]
	for name, c := range map[string]struct {
		spec   tensor.BucketSpec
		does   func(values []float32, rows []int32, counts []int64) wire.Op
		server bool
		want   string // the answer or the error
	}{
		"an average": {spec: dense, does: func([]float32, []int32, []int64) wire.Op { return opAverage },
			want: "[] [1.5 1.5 1.5]"},
		"a sum of what was changed": {spec: dense, does: func(values []float32, _ []int32, _ []int64) wire.Op {
			values[0], values[5] = 10, 20
			return opAllReduce
		}, want: "[] [12 3 21]"},
		"the answer itself": {spec: dense, does: func(values []float32, _ []int32, _ []int64) wire.Op {
			copy(values[6:9], []float32{7, 8, 9})
			return 0
		}, want: "[] [7 8 9]"},
		"rows": {spec: sparse, does: func([]float32, []int32, []int64) wire.Op { return opAllReduce },
			want: "[0 1 9] [1 1 2 2 3 3]"},
		"what a server": {spec: sparse, does: func([]float32, []int32, []int64) wire.Op { return opPushPull },
			server: true, want: "[1 9] [2 2 2 2]"},
		"no server": {spec: dense, does: func([]float32, []int32, []int64) wire.Op { return opPushPull },
			want: "nobody knows the answer of the server"},
		"fewer rows": {spec: sparse, does: func(values []float32, rows []int32, counts []int64) wire.Op {
			counts[0], rows[0] = 1, 5
			return opAllReduce
		}, want: "[1 5 9] [2 2 1 1 2 2]"},
		"rows of its own": {spec: sparse, does: func(values []float32, rows []int32, counts []int64) wire.Op {
			counts[2], rows[12], values[24], values[25] = 1, 99, 3, 4
			return 0
		}, want: "[99] [3 4]"},
		"too many rows": {spec: sparse, does: func(_ []float32, _ []int32, counts []int64) wire.Op {
			counts[2] = 7
			return 0
		},
			want: "part answered expect of batch 4, bucket 1 with invalid rows: bucket 1: a sparse gradient of 7 rows does not fit a capacity of 6 rows"},
		"rows below 0": {spec: sparse, does: func(_ []float32, _ []int32, counts []int64) wire.Op {
			counts[1] = -1
			return opAverage
		}, want: "with invalid rows: bucket 1: a sparse gradient of -1 rows"},
		"rows in disorder": {spec: sparse, does: func(_ []float32, rows []int32, _ []int64) wire.Op {
			rows[0] = 9
			return opAverage
		}, want: "with invalid rows: bucket 1"},
		"another operation": {spec: dense, does: func([]float32, []int32, []int64) wire.Op { return opBroadcast },
			want: "part answered expect of batch 4, bucket 0 with operation 0x6c: it must be push-pull, all-reduce, average, or 0"},
	} {
		plays := func(p *protocoltest.Part, f wire.Header) error {
			var rows []int32
			if c.spec.Sparse {
				rows = tensor.ViewOf[int32](p.Of(uint8(roleAskedRows), 0), 18)
			}
			counts := tensor.ViewOf[int64](p.Of(uint8(roleAskedCounts), 0), 3)
			if f.Op != opExpect || f.Arg != 1 || f.Arg2 != 2 {
				return fmt.Errorf("it was called by %+v", f)
			}
			op := c.does(p.Floats(uint8(roleAsked), 0), rows, counts)
			return p.Send(wire.Header{Op: opExpect, Batch: f.Batch, Bucket: f.Bucket, Arg: int64(op)})
		}
		for _, kind := range []sdk.Kind{sdk.KindHook, sdk.KindServer} {
			t.Run(fmt.Sprint(name, " of a ", kind), func(t *testing.T) {
				folder := t.TempDir()
				host := newHost(t, folder, "trainer0", "unix", late)
				var asked sdk.Answerer
				if kind == sdk.KindHook {
					asked, _ = hookOf(t, host, folder, bucketsOf(3), plays)
				} else {
					_, peer := protocoltest.NewPart(t, folder, "trainer0.part", plays)
					s, _, err := NewServer(host, peer, bucketsOf(3), nil)
					if err != nil {
						t.Fatal(err)
					}
					asked = s
				}
				for range 2 { // the second time reuses the memory
					x := exchangeOf(c.spec)
					if c.server {
						x.Server = func(pushed []*tensor.Gradient, answer *tensor.Gradient) error {
							return answer.CopyFrom(pushed[0])
						}
					}
					answer := tensor.NewGradient(c.spec)
					err := asked.Answer(x, &answer)
					if got := fmt.Sprint(answer.Rows, answer.Values); err == nil && got != c.want ||
						err != nil && !strings.Contains(err.Error(), c.want) {
						t.Errorf("it answers %s, %v, want %s", got, err, c.want)
					}
					if name == "no server" && !errors.Is(err, sdk.ErrNoAnswer) {
						t.Errorf("the error is %v, want sdk.ErrNoAnswer", err)
					}
				}
			})
		}
	}
}
