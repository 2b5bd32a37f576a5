//go:build !race

package points

import (
	"errors"
	"os"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
)

// around is a hook that pushes to the server or leaves the gradient unchanged.
type around struct {
	sound
	to       comm.Group
	residual float32
}

func (h *around) Reduce(state sdk.HookState, b *tensor.Bucket) *comm.Future {
	switch {
	case h.has("no future"):
		return nil
	case h.has("a future that never is done"):
		p := comm.NewPromise(nil)
		p.Begin()
		return p.Future()
	case h.has("a gradient without rows"):
		if b.Sparse && b.Gradient.Rows[0] == 99 {
			return comm.Completed(errors.New("99"))
		}
	case h.has("an error that is fed back over a reset"):
		if len(b.Gradient.Values) > 0 {
			b.Gradient.Values[0] += h.residual
		}
		h.residual += 0.5
	case h.has("a bucket that is written late") && b.Index == 0:
		f := h.to.Average(state.Batch(), b)
		f.Observe(tardy{b}, 0, 0, 0)
		return f
	case h.has("each rank keeps its own"):
		return comm.Completed(nil)
	case h.has("a goroutine that stays"):
		go func() { select {} }()
	case h.has("a file that stays open"):
		if f, err := os.Open(os.DevNull); err == nil {
			opened = append(opened, f)
		}
	case h.has("an empty bucket that it cannot take"):
		_ = b.Gradient.Values[0]
	case h.has("a value behind the end of a bucket") && !b.Sparse:
		behind(b.Gradient.Values)
	case h.has("an error that is hidden"):
		_ = h.to.Average(state.Batch(), b).Wait()
		return comm.Completed(nil)
	}
	return h.to.Average(state.Batch(), b)
}

var opened []*os.File // never closed

func (h *around) Reset() {}

// Answer implements sdk.Answerer.
func (h *around) Answer(x *sdk.Exchange, answer *tensor.Gradient) error {
	if h.has("an answer that it does not say") {
		return x.Sum(answer)
	}
	if h.fault != "" {
		return sdk.ErrNoAnswer // another point detects this fault
	}
	return x.Average(answer)
}

// tardy writes to a bucket after its reduction.
type tardy struct{ b *tensor.Bucket }

func (l tardy) Observe(int64, int64, int64, int64) {
	time.AfterFunc(5*time.Millisecond, func() { l.b.Gradient.Values[0]++ })
}
