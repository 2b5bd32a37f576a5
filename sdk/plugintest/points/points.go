// Package points has the points of the contract of each kind of parts. Those that a rank carries
// out on parts that it was given run alike in a test and in a trainer of a real run; the others
// build the part themselves.
package points

import (
	"cmp"
	"errors"
	"fmt"
	"runtime/debug"
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
	// Wait is the timeout of what ranks wait for, where it is not the subject's.
	Wait time.Duration

	rank  func(r *Rank) error    // carried out by each rank, in each pass
	alone func(s *Subject) error // builds the part itself; nil where rank is set
}

// Subject is the part that is tested and what is known of it.
type Subject struct {
	Part        sdk.Part
	Settings    []byte   // a JSON object; nil: its defaults
	Refused     []string // settings that it must refuse
	RanksDiffer bool     // its results may differ from rank to rank
	DenseOnly   bool     // it is not made for sparse gradients
	Timeout     time.Duration
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

// Of lists the points of a part's kind.
func Of(part sdk.Part) []Point {
	var own []Point
	switch part.Kind {
	case sdk.KindCriterion:
		own = criterionPoints
	case sdk.KindModel:
		own = modelPoints
	case sdk.KindHook:
		own = reductionPoints
	case sdk.KindServer:
		own = serverPoints(part)
	}
	list := append([]Point{refusesSettings}, own...)
	if len(own) > 0 {
		list = append(list, leftovers(own[0]))
	}
	return list
}

// InRun says that a trainer of a real run can carry the point out.
func (p Point) InRun() bool { return p.rank != nil }

// Check carries the point out on s in this process. The error is what is wrong with the part.
func (p Point) Check(s *Subject) error {
	if p.alone != nil {
		return within(s.timeout()+hostGrace, func() error { return p.alone(s) })
	}
	return p.inWorld(s)
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
