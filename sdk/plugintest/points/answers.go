package points

import (
	"errors"
	"fmt"

	"github.com/psbench/psbench/comm/bench"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/host/hosted"
	"github.com/psbench/psbench/sdk/plugintest/toys"
)

// answerer is whom the rank asks what must come out: the hook that is tested, or a second server of
// the sort that is, which end closes; nil where that does not say. A run has the server in another
// process, where nobody asks it.
func (r *Rank) answerer() (asked sdk.Answerer, end func(), err error) {
	s := r.subject
	switch part := s.Part; {
	case part.Kind == sdk.KindHook:
		return hosted.AnswererOf(r.Hook), func() {}, nil
	case part.Timing != 0 || part.InTrainer(): // it is declared by a run, which cannot build it
		return nil, func() {}, nil
	}
	env := s.environment().(sdk.ServerEnv)
	env.Trainers, env.Buckets = r.Size, nil
	for _, b := range r.Buckets {
		env.Buckets = append(env.Buckets, b.BucketSpec)
	}
	if s.Part.Serves == sdk.ServiceParameters {
		env.Model = &toys.Sizes{DenseOnly: true}
	}
	made, err := s.Part.Build(s.settings(), env)
	if err != nil {
		return nil, nil, err
	}
	made.(sdk.Server).Reset()
	asked, _ = made.(sdk.Answerer)
	return asked, func() { closePart(made) }, nil
}

// compareAnswers compares the reduced buckets with what the part says that they must be, if it does.
func (r *Rank) compareAnswers(answerer sdk.Answerer, batch int64, rows func(*Rank) []int32) error {
	if answerer == nil {
		return nil
	}
	for _, b := range r.Buckets {
		if err := r.compareAnswer(answerer, batch, b, rows); err != nil {
			return fmt.Errorf("batch %d, bucket %d: %w", batch, b.Index, err)
		}
	}
	return nil
}

func (r *Rank) compareAnswer(answerer sdk.Answerer, batch int64, b *tensor.Bucket, rows func(*Rank) []int32) error {
	x := &sdk.Exchange{Batch: batch, Bucket: b.BucketSpec, Rank: r.Position}
	for position := range r.Size {
		before := tensor.NewBucket(b.BucketSpec)
		rank := &Rank{Position: position}
		if err := rank.fill(before, batch, rows(rank)); err != nil {
			return err
		}
		x.Gradients = append(x.Gradients, &before.Gradient)
		if r.subject.Part.Kind == sdk.KindHook {
			x.Partners = append(x.Partners, position)
		}
	}
	if r.subject.Part.Kind == sdk.KindHook {
		x.Server = func(pushed []*tensor.Gradient, answer *tensor.Gradient) error {
			return (&sdk.Exchange{Bucket: b.BucketSpec, Gradients: pushed}).Average(answer)
		}
	}
	answer := tensor.NewGradient(b.BucketSpec)
	switch err := answerer.Answer(x, &answer); {
	case errors.Is(err, sdk.ErrNoAnswer):
		return nil
	case err != nil:
		return fmt.Errorf("Answer: %w", err)
	}
	if where, how := bench.Difference(&b.Gradient, &answer); where != "" {
		return fmt.Errorf("%s %s, which is what Answer says", where, how)
	}
	return nil
}
