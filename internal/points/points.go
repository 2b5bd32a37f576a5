// Package points has the points of the contract of each kind of parts. Those that a rank carries
// out on parts that it was given run alike in a test and in a trainer of a real run; the others
// build the part themselves.
package points

import (
	"cmp"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/psbench/psbench/sdk"
)

// Point is one thing that a part must do.
type Point struct {
	Name    string
	Promise string // what the part is to keep, as a sentence
	// Ranks is how many ranks carry the point out, and Passes how often, with a reset before
	// each pass.
	Ranks, Passes int
	// Worlds are the numbers of ranks that carry the point out, one after the other; none: Ranks alone.
	Worlds []int
	// Large says that the buckets are those of toys.Sizes that are large.
	Large bool
	// Sparse says that it is about sparse gradients alone, Agreement that about ranks that agree.
	Sparse, Agreement bool
	// Floats says that it is about criteria that take targets which are numbers.
	Floats bool
	// Samples are those of the largest batch that a model or criterion is told of and gets; 0: MaxBatch.
	Samples int
	// Unseen is why a run does not show whether the part keeps the point, "" where one does.
	Unseen string

	rank    func(r *Rank) error    // carried out by each rank, in each pass; nil: by none
	alone   func(s *Subject) error // in a test in the place of rank: builds the part itself, and sees more
	guarded bool                   // tensors lie between pages that nobody may touch, in a test
}

// Subject is the part that is tested and what is known of it.
type Subject struct {
	Part        sdk.Part
	Settings    []byte   // a JSON object; nil: its defaults
	Refused     []string // settings that it must refuse
	RanksDiffer bool     // its results may differ from rank to rank
	DenseOnly   bool     // it is not made for sparse gradients
	Timeout     time.Duration
	InTrainer   map[sdk.Kind]string // keys that a trainer is to choose
	Inputs      *sdk.InputSpec      // what data is made for; nil: of several the first that it takes
	Largest     int                 // samples of the largest batch; 0: as many as the point says
	// Expect is what a hook or server is to answer, in the place of what it declares; "": that.
	Expect sdk.Answers

	panics panics // of what is built
}

// timeout is how long the part may take over anything.
func (s *Subject) timeout() time.Duration { return cmp.Or(s.Timeout, 10*time.Second) }

// settings are those that the part is built with.
func (s *Subject) settings() []byte {
	if s.Settings == nil {
		return []byte("{}")
	}
	return s.Settings
}

// Points lists the points of the part's kind, those first on which others build.
func (s *Subject) Points() []Point {
	var own []Point
	switch s.Part.Kind {
	case sdk.KindCriterion:
		own = criterionPoints
	case sdk.KindModel:
		own = modelPoints
	case sdk.KindHook:
		own = hookPoints(len(s.Part.Links) > 0)
	case sdk.KindServer:
		own = serverPoints(s.Part)
	case sdk.KindData:
		own = dataPoints
	case sdk.KindTrainer:
		own = trainerPoints
	}
	settings := refusesSettings
	if len(s.Refused) == 0 {
		settings.Promise = withoutRange
	}
	list := slices.Concat([]Point{settings}, own, []Point{leftovers(own[0])})
	return slices.DeleteFunc(list, func(p Point) bool {
		return p.Sparse && s.dense() || p.Agreement && !s.agrees() || p.Floats && s.Part.Targets.OrClasses() == sdk.ClassTargets
	})
}

// dense says that the part gets no sparse gradients.
func (s *Subject) dense() bool { return s.DenseOnly || s.Part.Serves == sdk.ServiceParameters }

// agrees says that the part leaves all ranks with the same result: one that does not wait for all
// cannot, nor one that has nothing to agree by.
func (s *Subject) agrees() bool {
	return !s.Part.Asynchronous && !s.Part.RanksDiffer && !s.RanksDiffer && (s.Part.Kind != sdk.KindHook || len(s.Part.Links) > 0)
}

// InRun says that a trainer of a real run can carry the point out.
func (p Point) InRun() bool { return p.rank != nil && p.Unseen == "" }

// NotSeen is the error of a point that cannot be seen on this part: why.
type NotSeen string

func (e NotSeen) Error() string { return string(e) }

// Sizes are the numbers of ranks that carry the point out, one after the other.
func (p Point) Sizes() []int {
	if p.Worlds != nil {
		return p.Worlds
	}
	return []int{max(1, p.Ranks)}
}

// Check carries the point out on s in this process. The error is what is wrong with the part, or
// NotSeen.
func (p Point) Check(s *Subject) (err error) {
	if p.alone != nil {
		err = within(s.timeout()+hostGrace, func() error { return p.alone(s) })
	} else {
		for _, p.Ranks = range p.Sizes() {
			if err = p.inWorld(s); err != nil {
				break
			}
		}
	}
	if panicked := s.panics.take(); panicked != nil {
		err = panicked // which explains the rest
	}
	return err
}

// Carry carries out one pass of the point in a rank.
func (p Point) Carry(r *Rank) error { return guarded(func() error { return p.rank(r) }) }

// within is the error of f, which is left behind where it takes too long.
func within(limit time.Duration, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- guarded(f) }()
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case err := <-done:
		return err
	case <-late.C:
		return fmt.Errorf("it is not done after %g s", limit.Seconds())
	}
}

// guarded is f, whose panics, writes to memory that it does not own among them, are errors.
func guarded(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it panics: %v, %s", describe(p), culprit(string(debug.Stack())))
		}
	}()
	return f()
}

// describe names a panic; a fault is one at memory that is guarded.
func describe(p any) string {
	var fault interface{ Addr() uintptr }
	if err, ok := p.(error); ok && errors.As(err, &fault) {
		return "it writes, or reads, where it must not"
	}
	return fmt.Sprint(p)
}

// culprit is the first frame of a panic's stack that is none of the runtime's.
func culprit(stack string) string {
	_, below, _ := strings.Cut(stack, "panic(")
	lines := strings.Split(below, "\n")
	for i := 1; i < len(lines); i++ {
		if at := strings.TrimSpace(lines[i]); strings.Contains(at, ".go:") && !strings.Contains(at, "/runtime/") {
			place, _, _ := strings.Cut(at, " +")
			return "at " + place
		}
	}
	return "at an unknown place"
}
