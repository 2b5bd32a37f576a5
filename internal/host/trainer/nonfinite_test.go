package trainer

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/internal/host/hosttest"
	"github.com/psbench/psbench/internal/host/inspect"
	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/internal/host/stop"
	"github.com/psbench/psbench/internal/numeral"
	"github.com/psbench/psbench/sdk"
)

// spoiled runs a pass with these losses after an epoch and returns the findings. spoil changes the
// tensors before each loss that is not finite.
func spoiled(t *testing.T, spoil func(sdk.TrainerParts), losses ...float64) *record.NonFinite {
	t.Helper()
	r := newToyWorld(t, "shm", "{}").trainer
	hosttest.Must(t, r.Reset())
	r.Epoch(0)
	r.Loss(1)
	r.Epoch(1)
	for _, loss := range losses {
		if !numeral.Finite(loss) {
			spoil(r.parts)
		}
		r.Loss(loss)
	}
	return r.found.Record()
}

func TestNonFinite(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(-1)
	for name, c := range map[string]struct {
		spoil  func(sdk.TrainerParts)
		losses []float64
		want   *record.NonFinite
		text   string
	}{
		"nothing": {losses: []float64{1, math.MaxFloat64}},
		"a loss alone": {func(sdk.TrainerParts) {}, []float64{1, inf, 1, nan},
			&record.NonFinite{Epoch: 1, Batch: 1, Loss: inf, Losses: 2},
			"trainer0: the loss of epoch 1, batch 1 is -Inf, the first of 2 that are not finite; all parameters and gradients are finite"},
		"both": {func(p sdk.TrainerParts) {
			p.Values[1].Data[1] = float32(nan)
			p.Gradients[1].Values[0] = float32(inf)
		}, []float64{nan}, &record.NonFinite{Epoch: 1, Loss: nan, Losses: 1, Parameter: "weight", Gradient: "weight"},
			"trainer0: the loss of epoch 1, batch 0 is NaN, the first of 1 that are not finite; not finite either: parameter weight, gradient weight"},
	} {
		t.Run(name, func(t *testing.T) {
			got := spoiled(t, c.spoil, c.losses...)
			if d := cmp.Diff(fmt.Sprint(c.want), fmt.Sprint(got)); d != "" {
				t.Errorf("%s: %s", name, d)
			}
			if got != nil && inspect.Describe("trainer0", got) != c.text {
				t.Errorf("%s: %q", name, inspect.Describe("trainer0", got))
			}
		})
	}
}

// At the end of a pass, the parameters are checked even if all losses were finite.
func TestParametersThatAreNotFiniteAtTheEnd(t *testing.T) {
	for _, fail := range []bool{false, true} {
		t.Run(fmt.Sprint(fail), func(t *testing.T) {
			r := newToyWorld(t, "shm", "{}").trainer
			r.config.FailOnNaN = fail
			hosttest.Must(t, r.Reset())
			r.trainer = &spoiler{r.trainer}
			_, err := r.Train(t.Context(), stop.Length{})
			want := "trainer0: parameter table is not finite at the end of the pass"
			if text := inspect.Describe("trainer0", r.found.Record()); text != want {
				t.Errorf("found %q", text)
			}
			if fail && (err == nil || err.Error() != want+" (--on-nan fail)") || !fail && err != nil {
				t.Errorf("fail %v: the pass ended with %v", fail, err)
			}
		})
	}
}

// spoiler is a trainer that spoils a parameter after its last use.
type spoiler struct{ sdk.Trainer }

func (s *spoiler) Train(ctx context.Context, report sdk.PassReport) error {
	err := s.Trainer.Train(ctx, report)
	s.Trainer.(*hosttest.ToyTrainer).Parts.Values[0].Data[3] = float32(math.Inf(1))
	return err
}

// With FailOnNaN, a loss that is not finite ends the pass and replaces the trainer's own error.
func TestFailOnNaNEndsThePass(t *testing.T) {
	r := newToyWorld(t, "shm", "{}").trainer
	r.config.FailOnNaN = true
	hosttest.Must(t, r.Reset())
	r.trainer = &diverging{r.trainer}
	_, err := r.Train(t.Context(), stop.Length{})
	if want := "trainer0: the loss of epoch 2, batch 0 is +Inf, the first of 1 "; err == nil ||
		!strings.HasPrefix(err.Error(), want) {
		t.Errorf("the pass ended with %v, want %s", err, want)
	}
}

// diverging is a trainer that continues until it is told to stop.
type diverging struct{ sdk.Trainer }

func (diverging) Train(ctx context.Context, report sdk.PassReport) error {
	report.Epoch(2)
	report.Loss(math.Inf(1))
	<-ctx.Done()
	return ctx.Err()
}

func TestLossAllocatesNothing(t *testing.T) {
	r := newToyWorld(t, "shm", "{}").trainer
	hosttest.Must(t, r.Reset())
	r.Loss(1)
	if n := testing.AllocsPerRun(100, func() { r.Loss(1) }); n != 0 {
		t.Errorf("a loss allocates %v times", n)
	}
}
