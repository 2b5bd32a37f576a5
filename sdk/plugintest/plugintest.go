// Package plugintest tests whether a part keeps the contract of its kind. One call in a test of
// the part's own package does:
//
//	func TestConformance(t *testing.T) { plugintest.Check(t, part) }
//
// Each point of the contract is a subtest, whose name `psbench plugin check` shows as well. What
// the points are carried out in is psbench's own: the links are those of a fabric, servers and
// parts run on the host that runs them in an experiment, all in the process of the test.
package plugintest

import (
	"errors"
	"testing"
	"time"

	"github.com/psbench/psbench/internal/points"
	"github.com/psbench/psbench/internal/points/harness"
	"github.com/psbench/psbench/sdk"
)

// Option says more of the part than its declaration does.
type Option struct{ apply func(*harness.Subject) }

// Settings are those that the part is built with, a JSON object; its defaults otherwise.
func Settings(json string) Option {
	return Option{func(s *harness.Subject) { s.Settings = []byte(json) }}
}

// Refuses are settings, each a JSON object, with which the part must not be built.
func Refuses(json ...string) Option {
	return Option{func(s *harness.Subject) { s.Refused = append(s.Refused, json...) }}
}

// RanksDiffer says that a hook or server does not leave the same result on all ranks.
func RanksDiffer() Option { return Option{func(s *harness.Subject) { s.RanksDiffer = true }} }

// Expect says what a hook or server answers, sdk.AnswersMean say, where it declares nothing.
func Expect(answers sdk.Answers) Option {
	return Option{func(s *harness.Subject) { s.Expect = answers }}
}

// DenseOnly says that a hook or server is not made for sparse gradients.
func DenseOnly() Option { return Option{func(s *harness.Subject) { s.DenseOnly = true }} }

// InTrainer chooses a key of an in-trainer kind for a trainer.
func InTrainer(kind sdk.Kind, key string) Option {
	return Option{func(s *harness.Subject) {
		if s.InTrainer == nil {
			s.InTrainer = map[sdk.Kind]string{}
		}
		s.InTrainer[kind] = key
	}}
}

// Inputs is what a model takes that data is made for.
func Inputs(in sdk.InputSpec) Option { return Option{func(s *harness.Subject) { s.Inputs = &in }} }

// Largest bounds the batches that a model or criterion gets, which have up to 1031 samples, of a
// criterion 4099, for one that is too slow, or too large, for as many.
func Largest(samples int) Option { return Option{func(s *harness.Subject) { s.Largest = samples }} }

// Timeout is how long a part may take over anything before it is taken to hang, 10 s otherwise.
func Timeout(d time.Duration) Option { return Option{func(s *harness.Subject) { s.Timeout = d }} }

// Check tests a part against the points of the contract of its kind, one after the other, up to
// the first that it does not keep. A key of an in-trainer kind has none, which is logged.
func Check(t *testing.T, part sdk.Part, options ...Option) {
	t.Helper()
	if part.InTrainer() {
		t.Logf("%s %s has no contract of its own: its trainer is tested with it, by the option InTrainer", part.Kind,
			part.Key)
		return
	}
	s := &harness.Subject{Part: part}
	for _, option := range options {
		option.apply(s)
	}
	if len(part.Settings) > 0 && len(s.Refused) == 0 {
		t.Logf("%s %s is not tried with settings out of range: name some that it must refuse, by the option Refuses",
			part.Kind, part.Key)
	}
	list := points.Of(s)
	for i, point := range list {
		kept := t.Run(point.Name, func(t *testing.T) {
			var unseen harness.NotSeen
			switch err := point.Check(s); {
			case errors.As(err, &unseen):
				t.Skip(unseen)
			case err != nil:
				t.Errorf("%s\n  %s %s must keep this: %s", err, part.Kind, part.Key, point.Promise)
			}
		})
		if left := list[i+1:]; !kept && len(left) > 0 {
			t.Errorf("%d points that build on %s were not tried", len(left), point.Name)
			return
		}
	}
}
