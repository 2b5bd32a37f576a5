// Package plugintest tests whether a part obeys the contract of its kind. One call in a test of the
// part's own package is enough:
//
//	func TestConformance(t *testing.T) { plugintest.Check(t, part) }
//
// Each point of the contract is a subtest with the name that `psbench plugin check` shows. As in a
// run, the tests use psbench's own fabric and host, but everything runs in the test's process.
package plugintest

import (
	"errors"
	"testing"
	"time"

	"github.com/psbench/psbench/internal/points"
	"github.com/psbench/psbench/internal/points/harness"
	"github.com/psbench/psbench/sdk"
)

// Option describes properties of the part that its declaration lacks.
type Option struct{ apply func(*harness.Subject) }

// Settings sets the part's settings, a JSON object. Without this option, the part has its default
// settings.
func Settings(json string) Option {
	return Option{func(s *harness.Subject) { s.Settings = []byte(json) }}
}

// Refuses lists settings, each a JSON object, that the part must refuse.
func Refuses(json ...string) Option {
	return Option{func(s *harness.Subject) { s.Refused = append(s.Refused, json...) }}
}

// RanksDiffer declares that a hook or server may leave different results on different ranks.
func RanksDiffer() Option { return Option{func(s *harness.Subject) { s.RanksDiffer = true }} }

// Expect sets the answers that a hook or server should give, such as sdk.AnswersMean, if its
// declaration has none.
func Expect(answers sdk.Answers) Option {
	return Option{func(s *harness.Subject) { s.Expect = answers }}
}

// DenseOnly declares that a hook or server does not support sparse gradients.
func DenseOnly() Option { return Option{func(s *harness.Subject) { s.DenseOnly = true }} }

// InTrainer chooses a trainer's part of an in-trainer kind by its key.
func InTrainer(kind sdk.Kind, key string) Option {
	return Option{func(s *harness.Subject) {
		if s.InTrainer == nil {
			s.InTrainer = map[sdk.Kind]string{}
		}
		s.InTrainer[kind] = key
	}}
}

// Inputs sets the limits of the model for which a data part produces samples.
func Inputs(in sdk.InputSpec) Option { return Option{func(s *harness.Subject) { s.Inputs = &in }} }

// Largest limits the number of samples in a batch, for a model or criterion that is too slow or too
// large for the default. The default is up to 1031 samples for a model and 4099 for a criterion.
func Largest(samples int) Option { return Option{func(s *harness.Subject) { s.Largest = samples }} }

// Timeout sets how long any step of a part may take. A slower step fails the test. The default is
// 10 s.
func Timeout(d time.Duration) Option { return Option{func(s *harness.Subject) { s.Timeout = d }} }

// Check tests a part against its kind's contract, one point after the other, and stops at the first
// failure. An in-trainer kind has no contract, so Check only logs that.
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
