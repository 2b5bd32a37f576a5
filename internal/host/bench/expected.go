package bench

import (
	"errors"
	"fmt"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/bench"
	"github.com/psbench/psbench/internal/host/fault"
	"github.com/psbench/psbench/internal/host/hosted"
	"github.com/psbench/psbench/sdk"
)

// expect decides how the rounds are checked. If the values alone determine the result, each rank
// checks by itself. If the result depends on the server or the hook, expect asks that part.
func (w *work) expect(req Request) error {
	parted := w.operation.Served || w.operation.Hooked
	w.values = bench.NewValues(req.Density, parted && req.Expect == Mean)
	w.values.Rounded = req.Rounded
	if w.bucket != nil {
		w.values.Narrow(w.bucket.Type, w.sync.Size())
	}
	w.round.Reduced = w.round.All()
	if w.operation.Hooked && w.hook.alone() {
		w.round.Reduced = req.Partners
	}
	switch {
	case !parted || req.Expect == Mean || req.Expect == Sum:
		w.check = w.checkValues
		return nil
	case req.Expect != OfPart:
		return nil
	case w.operation.Hooked:
		return w.askHook(req.Server)
	default:
		return w.askServer()
	}
}

// verify compares every element with the result expected from the ranks' values.
func (w *work) verify(number int64) error {
	if w.check == nil || w.mismatch != "" {
		return nil
	}
	where, how, err := w.check(number)
	switch {
	case errors.Is(err, sdk.ErrNoAnswer):
		w.check, w.unknown = nil, err.Error()
	case err != nil:
		return err
	case where != "":
		w.mismatch = fmt.Sprintf("%s of round %d on %s %s", where, number, w.Name(), how)
	}
	return nil
}

func (w *work) checkValues(number int64) (where, how string, err error) {
	w.round.Number = number
	where, how = w.values.Mismatch(w.bucket, number, w.operation.Expect(w.round))
	return where, how, nil
}

// askServer checks results against the answers of the server's twin.
func (w *work) askServer() error {
	t, err := w.serverTwin(len(w.round.Partners))
	switch {
	case err != nil:
		return err
	case t.answerer != nil:
		w.check = func(number int64) (where, how string, err error) {
			x, err := w.exchange(number, w.round.Partners)
			if err != nil {
				return "", "", err
			}
			return w.compare(x, t.answerer, w.Part().Title())
		}
	case t.elementwise != nil:
		w.check = func(number int64) (where, how string, err error) {
			where, how = w.values.MismatchWith(t.answer, w.bucket, number, w.round.Partners)
			return where, how, nil
		}
	default:
		w.unknown = t.silent()
	}
	return nil
}

// askHook checks results against the hook's own prediction. The hook may need the server's answer,
// which server computes.
func (w *work) askHook(server Expect) error {
	answerer := hosted.AnswererOf(w.hook.Hook)
	if part, err := w.Find(*w.config.Hook); answerer == nil && err == nil {
		answerer = part.Answerer()
	}
	if answerer == nil {
		w.unknown = w.hook.title + " does not say what it answers: it is no sdk.Answerer"
		return nil
	}
	var answer func(pushed []*tensor.Gradient, answer *tensor.Gradient) error
	if w.hook.uses(sdk.LinkServer) {
		var err error
		if answer, err = w.serverAnswer(server); err != nil {
			return err
		}
	}
	w.check = func(number int64) (where, how string, err error) {
		x, err := w.exchange(number, w.round.All())
		if err != nil {
			return "", "", err
		}
		x.Partners, x.Server = w.round.Partners, answer
		return w.compare(x, answerer, w.hook.title)
	}
	return nil
}

// asked is reused memory for one bucket: the question to an Answerer and the answer.
type asked struct {
	gradients []*tensor.Bucket // gradients of all ranks that take part
	answer    *tensor.Bucket
	exchange  sdk.Exchange
	asking    []int // the ranks that sent the gradients
}

// exchange returns the values that the given ranks had in the bucket before a round. For each rank,
// exchange needs memory for one bucket and one hash per element.
func (w *work) exchange(number int64, ranks []int) (*sdk.Exchange, error) {
	a := &w.asked
	if a.answer == nil || a.answer.Index != w.bucket.Index || len(a.gradients) != len(ranks) {
		*a = asked{answer: tensor.NewBucket(w.bucket.BucketSpec)}
		for range ranks {
			a.gradients = append(a.gradients, tensor.NewBucket(w.bucket.BucketSpec))
		}
	}
	a.asking = ranks
	x := &a.exchange
	*x = sdk.Exchange{Batch: number, Bucket: w.bucket.BucketSpec, Gradients: x.Gradients[:0]}
	for i, rank := range ranks {
		if err := w.values.Fill(a.gradients[i], rank, number); err != nil {
			return nil, err
		}
		if rank == w.Rank() {
			x.Rank = i
		}
		x.Gradients = append(x.Gradients, &a.gradients[i].Gradient)
	}
	return x, nil
}

// compare compares the result of an exchange with the Answerer's answer.
func (w *work) compare(x *sdk.Exchange, by sdk.Answerer, title string) (where, how string, err error) {
	answer := &w.asked.answer.Gradient
	if err := by.Answer(x, answer); err != nil {
		return "", "", fault.Of(title, "Answer", err)
	}
	if err := w.bucket.Check(answer); err != nil {
		return "", "", fault.Of(title, "Answer", err)
	}
	if where, _ = bench.Difference(&w.bucket.Gradient, answer); where == "" {
		return "", "", nil
	}
	for i, rank := range w.asked.asking { // the call may have overwritten these gradients
		if err := w.values.Fill(w.asked.gradients[i], rank, x.Batch); err != nil {
			return "", "", err
		}
	}
	where, how = bench.Difference(&w.bucket.Gradient, answer, w.asked.exchange.Gradients...)
	return where, how, nil
}

// serverAnswer returns a function that computes the server's answer to the pushes of a hook.
// serverAnswer returns nil if the answer is unknown.
func (w *work) serverAnswer(e Expect) (func(pushed []*tensor.Gradient, answer *tensor.Gradient) error, error) {
	switch e {
	case Mean, Sum:
		return func(pushed []*tensor.Gradient, answer *tensor.Gradient) error {
			x := sdk.Exchange{Bucket: w.bucket.BucketSpec, Gradients: pushed}
			if e == Mean {
				return x.Average(answer)
			}
			return x.Sum(answer)
		}, nil
	case OfPart:
	default:
		return nil, nil
	}
	t, err := w.serverTwin(len(w.round.Partners))
	if err != nil {
		return nil, err
	}
	return func(pushed []*tensor.Gradient, answer *tensor.Gradient) error {
		switch {
		case t.elementwise != nil:
			return t.reduce(pushed, answer)
		case t.answerer != nil:
			outer := &w.asked.exchange
			x := sdk.Exchange{Batch: outer.Batch, Bucket: outer.Bucket, Gradients: pushed}
			for i, place := range outer.Partners {
				if place == outer.Rank {
					x.Rank = i
				}
			}
			return t.answerer.Answer(&x, answer)
		}
		return fmt.Errorf("%w: %s", sdk.ErrNoAnswer, t.silent())
	}, nil
}
