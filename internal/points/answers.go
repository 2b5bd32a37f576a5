package points

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/bench"
	"github.com/psbench/psbench/internal/host/hosted"
	"github.com/psbench/psbench/internal/points/harness"
	"github.com/psbench/psbench/sdk"
)

// declared returns the part. If the test expects an answer, that replaces the declared one.
func declared(s *harness.Subject) sdk.Part {
	part := s.Part
	part.Answers = cmp.Or(s.Expect, part.Answers)
	return part
}

// answererOf returns the source of expected results: the declaration, the tested hook itself, or a second server of
// the tested kind, which end closes. answererOf returns nil if the result is unknown. A run has the part in another
// process, where the rank cannot ask it.
func answererOf(r *harness.Rank) (asked sdk.Answerer, end func(), err error) {
	part, end := declared(r.Subject), func() {}
	if declared := part.Answerer(); declared != nil {
		return declared, end, nil
	}
	switch {
	case part.InTrainer(): // a run declares the part but cannot build it
		return nil, end, nil
	case part.Kind == sdk.KindHook:
		asked = hosted.AnswererOf(r.Hook)
	default:
		if asked, end, err = twin(r); err != nil {
			return nil, nil, err
		}
	}
	if asked == nil && part.Answers == sdk.AnswersOwn {
		end()
		return nil, nil, fmt.Errorf("it declares that it computes its expected answer itself (%q), but has no method Answer: "+
			"it must be an sdk.Answerer",
			string(sdk.AnswersOwn))
	}
	return asked, end, nil
}

// twin creates a second server of the tested kind, if that kind is an Answerer.
func twin(r *harness.Rank) (asked sdk.Answerer, end func(), err error) {
	s := r.Subject
	var buckets []tensor.BucketSpec
	for _, b := range r.Buckets {
		buckets = append(buckets, b.BucketSpec)
	}
	made, err := s.Part.Build(s.BuiltWith(), serverEnv(s, r.Size, buckets))
	if err != nil {
		return nil, nil, err
	}
	if whole, ok := made.(sdk.Server); ok && s.Part.Timing == 0 {
		whole.Reset()
	}
	asked, _ = made.(sdk.Answerer)
	return asked, func() { closePart(made) }, nil
}

// compareAnswers compares the reduced buckets with the expected results for the inputs of fill. compareAnswers
// compares nothing if answerer is nil.
func compareAnswers(r *harness.Rank, answerer sdk.Answerer, batch int64, fill filling) error {
	if answerer == nil {
		return nil
	}
	for _, b := range r.Buckets {
		if err := compareAnswer(r, answerer, batch, b, fill); err != nil {
			if forgotten := hosted.Unawaited(r.Hook); forgotten != nil {
				err = fmt.Errorf("%w; %w", err, forgotten)
			}
			return fmt.Errorf("batch %d, bucket %d: %w", batch, b.Index, err)
		}
	}
	return nil
}

func compareAnswer(r *harness.Rank, answerer sdk.Answerer, batch int64, b *tensor.Bucket, fill filling) error {
	gradients, err := filledBy(r, fill, batch, b.BucketSpec)
	if err != nil {
		return err
	}
	x := &sdk.Exchange{Batch: batch, Bucket: b.BucketSpec, Rank: r.Position, Gradients: gradients}
	part := declared(r.Subject)
	if part.Kind == sdk.KindHook {
		for position := range r.Size {
			x.Partners = append(x.Partners, position)
		}
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
	if where, _ := bench.Difference(&b.Gradient, &answer); where == "" {
		return nil
	}
	// The answerer may have overwritten its input gradients.
	if gradients, err = filledBy(r, fill, batch, b.BucketSpec); err != nil {
		return err
	}
	if where, how := bench.Difference(&b.Gradient, &answer, gradients...); where != "" {
		return fmt.Errorf("%s %s: that is %s of %s",
			where, how, by(part.Answers), []string{"one gradient", fmt.Sprint(r.Size, " gradients")}[min(r.Size-1, 1)])
	}
	return nil
}

// by names the source of the expected result.
func by(answers sdk.Answers) string {
	switch answers {
	case "", sdk.AnswersOwn:
		return "what Answer says"
	case sdk.AnswersMean, sdk.AnswersSum:
		return "the " + string(answers)
	}
	return "the answer, " + string(answers) + ","
}

// filledBy returns the gradients of all ranks before a batch is reduced.
func filledBy(
	r *harness.Rank, fill filling, batch int64, spec tensor.BucketSpec,
) (gradients []*tensor.Gradient, err error) {
	for position := range r.Size {
		before := tensor.NewBucket(spec)
		if err := fill(&harness.Rank{Position: position, Size: r.Size}, before, batch); err != nil {
			return nil, err
		}
		gradients = append(gradients, &before.Gradient)
	}
	return gradients, nil
}
