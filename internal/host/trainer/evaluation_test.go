package trainer

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/host/hosttest"
	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

var nan = float32(math.NaN())

// answering returns a forward function that returns the next of these outputs for each batch.
func answering(outputs ...[]float32) func(*sdk.Batch) (tensor.Tensor, error) {
	next := 0
	return func(b *sdk.Batch) (tensor.Tensor, error) {
		out := outputs[next%len(outputs)]
		next++
		return tensor.Tensor{Shape: []int{len(b.Targets), len(out) / len(b.Targets)}, Data: out}, nil
	}
}

// meanOfOutputs is a criterion whose loss is the mean of the outputs.
type meanOfOutputs struct{ sdk.Criterion }

func (meanOfOutputs) Forward(out tensor.Tensor, _ []int64) (sum float64, err error) {
	for _, v := range out.Data {
		sum += float64(v)
	}
	return sum / float64(len(out.Data)), nil
}

// evaluations returns the results that e sends to the core.
func evaluations(t interface {
	Helper()
	Fatal(...any)
}, e *evaluation) (out []record.Evaluation) {
	t.Helper()
	hosttest.Must(t, e.collect(func(r record.Piece) error {
		out = append(out, *r.(*record.Evaluation))
		return nil
	}))
	return out
}

// numbersOf returns the bin numbers.
func numbersOf(bins []record.Bin) (out []int32) {
	for _, b := range bins {
		out = append(out, b.Bin)
	}
	return out
}

func TestEvaluationOfClassifiers(t *testing.T) {
	inf := float32(math.Inf(1))
	for name, c := range map[string]struct {
		classes int
		targets []int64
		output  []float32
		correct int // -1 if the model is no classifier
		bins    []int32
	}{
		"three classes":          {3, []int64{2, 0, 1}, []float32{0, 1, 2, 5, 1, 2, 0, 1, 2}, 2, nil},
		"the first of equals":    {3, []int64{0, 1, 2}, []float32{1, 1, 0, 1, 1, 0, 0, 1, 1}, 1, nil},
		"NaN beside the largest": {3, []int64{0, 0, 1}, []float32{2, nan, 1, nan, 1, 1, nan, 1, 0}, 0, nil},
		"infinite":               {3, []int64{1, 0}, []float32{0, inf, 1, -inf, -inf, -inf}, 2, nil},
		"too few columns":        {3, []int64{1, 0}, []float32{0, 1, 1, 0}, -1, nil},
		"one column of three":    {3, []int64{1, 0}, []float32{0, 1}, -1, nil},
		"one class":              {1, []int64{0, 0}, []float32{0, 1}, -1, nil},
		"two columns":            {2, []int64{0, 1, 1}, []float32{1, 1, 0, 2, 3, 1}, 2, []int32{-0x4000, 0, 0x4000}},
		"logits": {2, []int64{1, 1, 0, 0, 1}, []float32{0.5, 0, 0, -1, -1}, 3,
			[]int32{-0x3f80, 0, 0x3f00}},
		"both zeros": {2, []int64{0, 0}, []float32{0, float32(math.Copysign(0, -1))}, 2, []int32{0}},
		"logits that are NaN": {2, []int64{1, 0, 0}, []float32{nan, nan, -inf}, 1,
			[]int32{-worstBin, -0x7f80, worstBin}},
		"three columns of two": {2, []int64{0}, []float32{2, 1, 0}, -1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEvaluation("trainer1", engine.Host, []sdk.Batch{{Targets: c.targets}},
				sdk.InputSpec{Classes: c.classes}, &sdk.Recorder{})
			hosttest.Must(t, e.run(t.Context(), 7, answering(c.output), meanOfOutputs{}))
			got := evaluations(t, e)
			if len(got) != 1 || got[0].Epoch != 7 || got[0].Samples != len(c.targets) {
				t.Fatalf("%s: %v", name, got)
			}
			if correct := got[0].Correct; (correct != nil) != (c.correct >= 0) ||
				correct != nil && *correct != c.correct {
				t.Errorf("%s: correct are %v, want %d", name, correct, c.correct)
			}
			if !slices.Equal(numbersOf(got[0].Bins), c.bins) {
				t.Errorf("%s: the bins are %d, want %d", name, numbersOf(got[0].Bins), c.bins)
			}
		})
	}
}

// drawBinary draws scores, some of them equal, and their targets.
func drawBinary(t *rapid.T, n int) (logits []float32, targets []int64) {
	score := rapid.OneOf(rapid.Float32Range(-4, 4), rapid.SampledFrom([]float32{0, 1, -1, nan}))
	for range n {
		logits = append(logits, score.Draw(t, "score"))
		targets = append(targets, rapid.Int64Range(0, 1).Draw(t, "target"))
	}
	return logits, targets
}

// However samples are divided into batches and ranks, the sums over the ranks equal the sums over
// all samples.
func TestEvaluationsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		logits, targets := drawBinary(t, rapid.IntRange(1, 60).Draw(t, "samples"))
		ranks := make([]struct {
			batches []sdk.Batch
			outputs [][]float32
		}, rapid.IntRange(1, 3).Draw(t, "ranks"))
		for from := 0; from < len(logits); {
			to := min(len(logits), from+rapid.IntRange(1, 9).Draw(t, "batch"))
			r := &ranks[rapid.IntRange(0, len(ranks)-1).Draw(t, "rank")]
			r.batches = append(r.batches, sdk.Batch{Targets: targets[from:to]})
			r.outputs = append(r.outputs, logits[from:to])
			from = to
		}
		samples, correct, lossSum := 0, 0, 0.0
		bins := map[int32][2]int64{}
		for _, r := range ranks {
			e := newEvaluation("trainer1", engine.Host, r.batches, sdk.InputSpec{Classes: 2}, &sdk.Recorder{})
			if (e == nil) != (len(r.batches) == 0) {
				t.Fatalf("%d batches give %v", len(r.batches), e)
			}
			hosttest.Must(t, e.run(context.Background(), 0, answering(r.outputs...), meanOfOutputs{}))
			for _, q := range evaluations(t, e) {
				samples += q.Samples
				correct, lossSum = correct+*q.Correct, lossSum+q.LossSum
				numbers := numbersOf(q.Bins)
				if !slices.IsSorted(numbers) || len(slices.Compact(slices.Clone(numbers))) != len(numbers) {
					t.Fatalf("the bins are %d", numbers)
				}
				for _, bin := range q.Bins {
					c := bins[bin.Bin]
					bins[bin.Bin] = [2]int64{c[0] + bin.Negatives, c[1] + bin.Positives}
				}
			}
		}
		wantCorrect, wantLoss := 0, 0.0
		wantBins := map[int32][2]int64{}
		for i, x := range logits {
			wantLoss += float64(x)
			bin := int32(2*targets[i]-1) * -worstBin
			if x == x {
				if (x > 0) == (targets[i] == 1) {
					wantCorrect++
				}
				bin = binOf(x)
			}
			c := wantBins[bin]
			c[targets[i]]++
			wantBins[bin] = c
		}
		if samples != len(logits) || correct != wantCorrect {
			t.Fatalf("%d of %d samples are correct, want %d of %d", correct, samples, wantCorrect, len(logits))
		}
		if !(math.Abs(lossSum-wantLoss) < 1e-9) && !(math.IsNaN(lossSum) && math.IsNaN(wantLoss)) {
			t.Fatalf("the losses add up to %v, want %v", lossSum, wantLoss)
		}
		if d := cmp.Diff(wantBins, bins); d != "" {
			t.Fatal(d)
		}
	})
}

// Samples with bags have one target per row of the output.
func TestEvaluationOfSeveralTargets(t *testing.T) {
	batch := sdk.Batch{Indices: []int64{0, 1}, Offsets: []int64{0, 1, 2}, Targets: []int64{1, 0, 1, 1}}
	e := newEvaluation("trainer1", engine.Host, []sdk.Batch{batch}, sdk.InputSpec{Classes: 2}, &sdk.Recorder{})
	hosttest.Must(t, e.run(t.Context(), 0, answering([]float32{1, 1, 1, 1}), meanOfOutputs{}))
	if got := evaluations(t, e)[0]; got.Samples != 2 || *got.Correct != 3 || got.LossSum != 2 ||
		got.Bins[0].Positives != 3 {
		t.Errorf("it found %v", got)
	}
}

func TestEvaluationErrors(t *testing.T) {
	e := newEvaluation("trainer1", engine.Host, []sdk.Batch{{Targets: []int64{1}}, {Targets: []int64{1}}},
		sdk.InputSpec{Classes: 2}, &sdk.Recorder{})
	forward := answering([]float32{1})
	calls := 0
	failing := func(b *sdk.Batch) (tensor.Tensor, error) {
		if calls++; calls == 2 {
			return tensor.Tensor{}, hosttest.ErrToy
		}
		return forward(b)
	}
	err := e.run(t.Context(), 3, failing, meanOfOutputs{})
	if !errors.Is(err, hosttest.ErrToy) ||
		err.Error() != "trainer1, evaluation after epoch 3, batch 1: the toy is broken" {
		t.Errorf("a failing model gives %v", err)
	}
	failed := &hosttest.ToyCriterion{ToySettings: hosttest.ToySettings{Fail: "loss"}}
	err = e.run(t.Context(), 0, answering([]float32{1, 1}), failed)
	if !errors.Is(err, hosttest.ErrToy) ||
		err.Error() != "trainer1, evaluation after epoch 0, batch 0: the toy is broken" {
		t.Errorf("a failing criterion gives %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(hosttest.ErrToy)
	if err := e.run(ctx, 0, forward, meanOfOutputs{}); !errors.Is(err, hosttest.ErrToy) {
		t.Errorf("an ended context gives %v", err)
	}
	if got := evaluations(t, e); got != nil {
		t.Errorf("what failed left %v", got)
	}
}

// A reset clears the results of a pass, including the scores.
func TestEvaluationForgets(t *testing.T) {
	e := newEvaluation("trainer1", engine.Host, []sdk.Batch{{Targets: []int64{1, 0}}}, sdk.InputSpec{Classes: 2},
		&sdk.Recorder{})
	hosttest.Must(t, e.run(t.Context(), 0, answering([]float32{1, 2}), meanOfOutputs{}))
	e.reset()
	hosttest.Must(t, e.run(t.Context(), 0, answering([]float32{-1, 0}), meanOfOutputs{}))
	got := evaluations(t, e)
	if len(got) != 1 || got[0].LossSum != -1 || !slices.Equal(numbersOf(got[0].Bins), []int32{-0x3f80, 0}) {
		t.Errorf("the second pass found %v", got)
	}
}

func TestNoEvaluation(t *testing.T) {
	recorder := &sdk.Recorder{}
	e := newEvaluation("trainer1", engine.Host, nil, sdk.InputSpec{Classes: 2}, recorder)
	hosttest.Must(t, e.run(t.Context(), 0, nil, nil))
	e.reset()
	if e != nil || e.spentNS() != 0 || len(evaluations(t, e)) != 0 || len(recorder.All().Series) != 0 {
		t.Error("without held-out samples there is an evaluation")
	}
}

func TestSecondEvaluationAllocatesNothing(t *testing.T) {
	output := tensor.New(6, 1)
	forward := func(*sdk.Batch) (tensor.Tensor, error) { return output, nil }
	for name, c := range map[string]struct {
		classes int
		targets []int64
	}{"logits": {2, []int64{1, 0, 1, 1, 0, 1}}, "three classes": {3, []int64{2, 0}}} {
		e := newEvaluation("trainer1", engine.Host, []sdk.Batch{{Targets: c.targets}},
			sdk.InputSpec{Classes: c.classes}, &sdk.Recorder{})
		pass := func() {
			e.reset()
			for epoch := range 3 {
				hosttest.Must(t, e.run(t.Context(), epoch, forward, meanOfOutputs{}))
			}
		}
		pass()
		if n := testing.AllocsPerRun(10, pass); n != 0 {
			t.Errorf("%s: a second pass allocates %v times", name, n)
		}
		if got := evaluations(t, e); len(got) != 3 || got[0].Correct == nil {
			t.Errorf("%s: it found %v", name, got)
		}
	}
}

// BenchmarkEvaluation measures the cost of evaluating an epoch of 100 batches with 128 logits each.
// BenchmarkEvaluation excludes forward passes and the criterion.
func BenchmarkEvaluation(b *testing.B) {
	batches := make([]sdk.Batch, 100)
	output := tensor.New(128, 1)
	for i := range output.Data {
		output.Data[i] = float32(i-64) / 32
	}
	for i := range batches {
		batches[i].Targets = make([]int64, 128)
		batches[i].Targets[i] = 1
	}
	e := newEvaluation("trainer1", engine.Host, batches, sdk.InputSpec{Classes: 2}, &sdk.Recorder{})
	forward := func(*sdk.Batch) (tensor.Tensor, error) { return output, nil }
	b.ReportAllocs()
	for b.Loop() {
		e.reset()
		if err := e.run(b.Context(), 0, forward, freeCriterion{}); err != nil {
			b.Fatal(err)
		}
	}
}

type freeCriterion struct{ sdk.Criterion }

func (freeCriterion) Forward(tensor.Tensor, []int64) (float64, error) { return 0, nil }
