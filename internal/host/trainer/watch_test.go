package trainer

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/host/stop"
	"github.com/psbench/psbench/sdk"
)

// The core gets an error about a trainer that hangs, even if no other process waits for the
// trainer. The trainer may hang in an iteration, in an evaluation or at the end of its pass.
func TestTrainerThatStandsStillIsToldOf(t *testing.T) {
	const inPass, atEnd = "the core waited 0.2 s for the end of an iteration from trainer0",
		"has not ended its pass 0.1 s after it was over"
	for name, c := range map[string]struct {
		stepIs int // the step, counted from 1, or the evaluation batch that hangs
		evalIs int
		length stop.Length
		want   string
	}{
		"an iteration":           {3, 0, stop.Length{Epochs: 2}, inPass},
		"an evaluation":          {0, 1, stop.Length{Epochs: 2}, inPass},
		"the last evaluation":    {0, 1, stop.Length{Iterations: 4}, atEnd},
		"a timed pass, at first": {1, 0, stop.Length{}, inPass},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			told, steps, evaluated := make(chan struct{}), 0, 0
			r, e := newEndless(t, func() {
				if steps++; steps == c.stepIs {
					<-told
				}
			})
			forward := e.forward
			e.forward = func(b *sdk.Batch) (tensor.Tensor, error) {
				if evaluated++; evaluated == c.evalIs {
					<-told
				}
				return forward(b)
			}
			r.Timeout = 100 * time.Millisecond
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				_, _ = r.Train(t.Context(), c.length)
			}()
			select {
			case err := <-r.Events.Failures:
				wait := (*comm.WaitError)(nil)
				if !strings.HasSuffix(err.Error(), c.want) || errors.As(err, &wait) != (c.want == inPass) {
					t.Errorf("it tells of %v, want %s", err, c.want)
				}
			case <-time.After(20 * time.Second):
				t.Error("nobody is told")
			}
			if c.length != (stop.Length{}) {
				close(told)
				<-ended
				return
			}
			_ = r.End(r.Bound(0)) // a timed pass waits for this end
			close(told)
			<-ended
		})
	}
}
