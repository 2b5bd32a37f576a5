package servers

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
	"github.com/psbench/psbench/sdk/engine/enginetest"
	"github.com/psbench/psbench/sdk/optimizer"
)

// lender is an engine whose memory trainers share. lender records the calls that it gets.
type lender struct {
	*enginetest.Dark
	lent map[*float32]int // trainer by the start of its bucket
	told []string
}

func (l *lender) tell(format string, values ...any) {
	l.told = append(l.told, fmt.Sprintf(format, values...))
}

func (*lender) Join([]tensor.BucketSpec, []*tensor.Bucket) (comm.DeviceEnd, error) {
	return nil, errors.New("a server joins nothing")
}

func (*lender) AwaitShared() error { return errors.New("a server hands nothing over") }

func (l *lender) Mean(mean []float32, parts [][]float32) error {
	l.tell("mean")
	return l.Dark.Mean(mean, parts)
}

func (l *lender) Copy(to, from []float32) error {
	l.tell("copy")
	host := make([]float32, len(from))
	return errors.Join(engine.Out(l, host, from), engine.In(l, to, host))
}

func (l *lender) Borrow(values []float32) engine.Loan {
	if trainer, ok := l.lent[&values[0]]; ok {
		return &lentBucket{l, trainer}
	}
	return nil
}

type lentBucket struct {
	*lender
	trainer int
}

func (b *lentBucket) Take() error {
	b.tell("take%d", b.trainer)
	return nil
}

func (b *lentBucket) Return() error {
	b.tell("return%d", b.trainer)
	return nil
}

// If a trainer shares its buckets, the server reads gradients and writes parameters in the shared memory. The
// server does so after the trainer's work on the engine and before its answer. The server copies parameters out
// only for other trainers.
func TestUpdatesInWhatTrainersShare(t *testing.T) {
	const elements = 3
	for _, c := range []struct {
		name         string
		share        [2]bool
		fetch, round string
		bus          int64
	}{
		{
			"both", [2]bool{true, true}, "take0 copy return0 answer0 take1 copy return1 answer1",
			"take0 take1 mean copy return0 answer0 copy return1 answer1", 0,
		},
		{
			"one", [2]bool{true, false}, "take0 copy return0 answer0 answer1",
			"take0 mean copy return0 answer0 answer1", 3 * 4 * elements,
		},
		{"none", [2]bool{}, "answer0 answer1", "mean answer0 answer1", 4 * 4 * elements},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := &lender{Dark: enginetest.New(enginetest.Full), lent: map[*float32]int{}}
			spec := tensor.BucketSpec{Elements: elements, Parameters: []tensor.Span{{Elements: elements}}}
			model := &heldModel{engine: l, specs: []sdk.ParameterSpec{{Name: "p", Shape: []int{elements}}}}
			recorder := &sdk.Recorder{}
			server, err := NewBatchUpdate(BatchUpdateSettings{Settings: optimizer.Defaults(1, 0)}, sdk.ServerEnv{
				Name: "server2", Trainers: 2, Buckets: []tensor.BucketSpec{spec}, Recorder: recorder, Seed: heldSeed,
				Model: model, Engine: l,
			})
			if err != nil {
				t.Fatal(err)
			}
			if server.(sdk.DeviceServer).Device() != comm.Device(l) {
				t.Error("it shares no device")
			}
			var buckets [2][]float32
			for i := range buckets {
				buckets[i] = make([]float32, elements)
				if c.share[i] {
					if buckets[i], err = engine.Floats(l, elements); err != nil {
						t.Fatal(err)
					}
					l.lent[&buckets[i][0]] = i
				}
			}
			server.Reset()
			push := func(batch int64, gradients [2]float32) (answers [2][]float32) {
				l.told = nil
				for i, values := range buckets {
					write(t, l, c.share[i], values, gradients[i])
					g := &tensor.Gradient{Values: values}
					err := server.Receive(sdk.NewPush(sdk.Push{Batch: batch, Trainer: i, Gradient: g},
						func(_ sdk.Push, answer *tensor.Gradient) error {
							l.tell("answer%d", i)
							if c.share[i] != (answer == g) {
								t.Errorf("whether trainer %d is answered in its bucket is %v", i, answer == g)
							}
							answers[i] = slices.Clone(read(t, l, c.share[i], answer.Values))
							return nil
						}))
					if err != nil {
						t.Fatal(err)
					}
				}
				return answers
			}
			for i, step := range []struct {
				gradients [2]float32
				told      string
				want      float32
			}{{[2]float32{7, 7}, c.fetch, heldSeed}, {[2]float32{1, 3}, c.round, heldSeed - 2}} {
				for trainer, got := range push(int64(i), step.gradients) {
					if !slices.Equal(got, slices.Repeat([]float32{step.want}, elements)) {
						t.Errorf("batch %d: trainer %d has %v, want %g each", i, trainer, got, step.want)
					}
				}
				if told := strings.Join(l.told, " "); told != step.told {
					t.Errorf("batch %d: the engine and trainers saw %s\nwant %s", i, told, step.told)
				}
			}
			if counters := recorder.All().Counters; len(counters) != 1 || counters[0].Value != c.bus {
				t.Errorf("the bus has %v, want %d bytes", counters, c.bus)
			}
			if err := errors.Join(server.(io.Closer).Close(), l.Close()); err != nil {
				t.Error(err)
			}
		})
	}
}

// write fills a bucket with v.
func write(t *testing.T, e engine.Engine, shared bool, bucket []float32, v float32) {
	t.Helper()
	host := slices.Repeat([]float32{v}, len(bucket))
	if !shared {
		copy(bucket, host)
		return
	}
	if err := engine.In(e, bucket, host); err != nil {
		t.Fatal(err)
	}
}

// read returns the content of a bucket.
func read(t *testing.T, e engine.Engine, shared bool, bucket []float32) []float32 {
	t.Helper()
	if !shared {
		return bucket
	}
	host := make([]float32, len(bucket))
	if err := engine.Out(e, host, bucket); err != nil {
		t.Fatal(err)
	}
	return host
}
