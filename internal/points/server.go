package points

import (
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/points/harness"
	"github.com/psbench/psbench/internal/points/toys"
	"github.com/psbench/psbench/sdk"
)

// serverPoints returns the points for the kind of server.
func serverPoints(part sdk.Part) []harness.Point {
	switch {
	case part.Serves == sdk.ServiceTables:
		return tablePoints
	case part.Timing != 0:
		return slices.Concat(elementwisePoints(part), reductionPoints)
	}
	last := len(reductionPoints) - 1
	return slices.Concat([]harness.Point{once}, reductionPoints[:last], []harness.Point{late}, reductionPoints[last:])
}

// once is for servers that get whole pushes, like late.
var once = harness.Point{
	Name:    "once",
	Promise: "each push is answered once, with a gradient, and Receive waits for no other push",
	Ranks:   3,
	OnRank: func(r *harness.Rank) error {
		time.Sleep(time.Duration(r.Position) * harness.Moment)
		defer time.Sleep(harness.Moment) // time for surplus answers
		return reduceAll(r, 0, ofRank)
	},
	Alone: answeredOnce,
}

var late = harness.Point{
	Name:    "late",
	Promise: "no push is answered once its pass is over",
	Ranks:   2,
	Passes:  2,
	OnRank: func(r *harness.Rank) error {
		time.Sleep(harness.Moment)
		defer time.Sleep(harness.Moment)
		return reduceAll(r, 0, ofRank)
	},
}

// answeredOnce gives the server the pushes of three trainers, one after the other, and counts the answers.
func answeredOnce(s *harness.Subject) error {
	const trainers, batches = 3, 3
	env := serverEnv(s, trainers, s.Buckets(false))
	made, err := s.BuildIn(s.BuiltWith(), env)
	if err != nil {
		return err
	}
	defer closePart(made)
	server := made.(sdk.Server)
	if err := begin(server, slices.Repeat([]int{batches}, trainers)); err != nil {
		return err
	}
	answers := &answerCount{of: map[[3]int64]int{}}
	for batch := range int64(batches) {
		for trainer := range trainers {
			for i, bucket := range env.Buckets {
				g := tensor.NewGradient(bucket)
				push := sdk.Push{Batch: batch, Bucket: i, Trainer: trainer, Number: batch + 1, Gradient: &g}
				receive := func() error { return server.Receive(sdk.NewPush(push, answers.count)) }
				if err := harness.Within(s.Patience(), receive); err != nil {
					return fmt.Errorf("Receive of trainer %d, while %d others are still to come: %w",
						trainer, trainers-1-trainer, err)
				}
			}
		}
	}
	time.Sleep(10 * time.Millisecond) // time for answers from the server's own goroutines
	return answers.err()
}

// serverEnv returns the environment of a server in a run with so many trainers.
func serverEnv(s *harness.Subject, trainers int, buckets []tensor.BucketSpec) sdk.ServerEnv {
	env := s.Environment().(sdk.ServerEnv)
	env.Trainers, env.Buckets = trainers, buckets
	if s.Part.Serves == sdk.ServiceParameters {
		env.Model = &toys.Sizes{DenseOnly: true}
	}
	return env
}

// begin begins a pass. batches has the number of batches of each trainer.
func begin(server sdk.Server, batches []int) error {
	server.Reset()
	if e, ok := server.(sdk.Expecter); ok {
		return e.Expect(batches)
	}
	return nil
}

// answerCount counts the answers to each push.
type answerCount struct {
	mu    sync.Mutex
	of    map[[3]int64]int // counts by batch, bucket and trainer
	wrong error
}

// count receives an answer on behalf of a trainer.
func (a *answerCount) count(p sdk.Push, g *tensor.Gradient) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	push := [3]int64{p.Batch, int64(p.Bucket), int64(p.Trainer)}
	a.of[push]++
	switch {
	case a.of[push] > 1:
		a.wrong = fmt.Errorf("batch %d, bucket %d of trainer %d is answered twice", p.Batch, p.Bucket, p.Trainer)
	case g == nil:
		a.wrong = fmt.Errorf("batch %d, bucket %d of trainer %d is answered with no gradient",
			p.Batch, p.Bucket, p.Trainer)
	}
	return nil
}

func (a *answerCount) err() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.wrong
}

// closePart closes a part if it is an io.Closer.
func closePart(made any) {
	if c, ok := made.(io.Closer); ok {
		_ = c.Close() // another point reports its errors
	}
}
