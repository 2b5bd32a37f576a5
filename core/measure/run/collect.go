package run

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/core/process/cluster"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/host/inspect"
	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/sdk"
)

// silenceCheck is the interval at which psbench looks for silent processes.
const silenceCheck = 50 * time.Millisecond

// How long psbench waits for the next piece from a process after a failed run. A process without a heartbeat gets less
// time: it may be stopped, and the user has already waited.
const (
	salvagePatience = 3 * time.Second
	stoppedPatience = 500 * time.Millisecond
)

// collected holds the record of one process for the last pass.
type collected struct {
	pieces   []record.Piece // without the losses
	losses   []float64      // of a trainer
	declared declared       // names and types seen in the pieces
	came     int            // number of pieces of all kinds
	complete bool
}

// take stores a piece.
func (c *collected) take(piece record.Piece) {
	c.came++
	if losses, ok := piece.(record.Losses); ok {
		c.losses = append(c.losses, losses...)
		return
	}
	c.pieces = append(c.pieces, piece)
}

// pieces iterates over the pieces of one type.
func pieces[P record.Piece](c *collected) iter.Seq[P] {
	return func(yield func(P) bool) {
		for _, piece := range c.pieces {
			if p, ok := piece.(P); ok && !yield(p) {
				return
			}
		}
	}
}

// collect fetches the record of every process. A record has no size limit. A process may send for any length of time,
// but a pause between two pieces must not exceed the timeout.
func (r *run) collect(ctx context.Context) error {
	var err error
	ranks, companions := r.processes.parted()
	// Companions come first, because a trainer that summarizes its parameters initializes its companion's model again.
	for _, some := range [][]*process{companions, ranks} {
		if err == nil {
			err = cluster.Each(ctx, r.cluster, some, cluster.Unbounded, func(ctx context.Context, p *process) error {
				return r.fetch(ctx, p, func(silence time.Duration) bool { return silence < r.e.Timeout })
			})
		}
	}
	// Servers are checked here too. A trainer with a non-finite value has already ended the pass.
	if found := r.nonFinite(); err == nil && r.e.FailOnNaN && len(found) > 0 {
		return fmt.Errorf("%s (--on-nan fail)", found[0].text)
	}
	return err
}

// salvage fetches, after a failure, the missing records of all processes that still answer. It asks all processes
// concurrently, so that a silent process does not delay the others.
func (r *run) salvage() {
	if r.passing == record.NoPass {
		return
	}
	var wg sync.WaitGroup
	for _, p := range r.processes.all {
		wg.Go(func() {
			_ = r.fetch(context.Background(), p, func(silence time.Duration) bool {
				return silence < min(salvagePatience, r.e.Timeout) &&
					(silence < stoppedPatience || r.cluster.Alive(p.Member))
			})
		})
	}
	wg.Wait()
}

// fetch stores in p the record of its process for the last pass. It keeps the pieces that arrived before an error. It
// gives up once patient returns false for the time since the last sign of life.
func (r *run) fetch(ctx context.Context, p *process, patient func(silence time.Duration) bool) error {
	if p.collected.complete {
		return nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	began := time.Now()
	var heard atomic.Int64 // time of the last sign of life, a time.Duration since the start
	var watch sync.WaitGroup
	watch.Go(func() {
		for silence := time.Duration(0); patient(silence); silence = time.Since(began) - time.Duration(heard.Load()) {
			select {
			case <-ctx.Done():
				return
			case <-time.After(silenceCheck):
			}
		}
		cancel(&comm.WaitError{Waiter: "the core", For: []string{p.Name}, What: "its metrics",
			Seconds: r.e.Timeout.Seconds()})
	})
	c := collected{declared: declared{}}
	err := p.readRecord(ctx, r.passing, func(piece record.Piece) error {
		heard.Store(int64(time.Since(began)))
		if err := r.checkPiece(p, piece); err != nil {
			return err
		}
		if err := c.declared.add(piece); err != nil {
			return fmt.Errorf("%s %w", p.Name, err)
		}
		c.take(piece)
		return nil
	})
	c.complete = err == nil
	if wait := (*comm.WaitError)(nil); err != nil && errors.As(context.Cause(ctx), &wait) {
		err = wait
	}
	cancel(nil)
	watch.Wait()
	if c.came >= p.collected.came { // an earlier collection that failed may have got more
		p.collected = c
	}
	return err
}

// checkPiece returns an error for a piece that assemble cannot use.
func (r *run) checkPiece(p *process, piece record.Piece) error {
	if q, ok := piece.(*record.Evaluation); ok {
		if err := checkEvaluation(q, r.epochs(r.passing, p.rank)); err != nil {
			return fmt.Errorf("%s sent an impossible evaluation: %w", p.Name, err)
		}
	}
	return nil
}

// assemble builds the result from the collected pieces, one rank after the other.
func (r *run) assemble() {
	res := r.result
	res.Pass = passNames[r.passing]
	res.Losses = make([][]float64, len(r.processes.trainers))
	if r.o.Summarize {
		res.Parameters = make([][]result.ParameterSummary, len(r.processes.trainers))
		if r.e.Service != sdk.ServiceGradients {
			res.ServerParameters = make([][]result.ParameterSummary, len(r.processes.servers))
		}
	}
	for _, p := range r.processes.all {
		out := result.Process{
			Name: p.Name, Rank: p.rank, Kind: p.reportedKind(), Key: r.e.Parts[p.kind].Key,
			Plugin: r.e.Parts[p.kind].Plugin.Name,
			PID:    p.PID(), StartMS: float64(p.StartTook()) / 1e6, Facts: factsOf(p),
		}
		if c, named := r.hostClock(p); named {
			out.Host = c.Host
			if p.Site().Clock != nil && !slices.Contains(res.Clocks, c) {
				res.Clocks = append(res.Clocks, c)
			}
		}
		if p.device != nil {
			out.Device, out.Plugin = p.device.ID(), p.Plugin.Name
		}
		if p.host != nil {
			out.BoundaryNS = p.host.boundariesNS[p.kind]
		}
		for peak := range pieces[record.PeakRSS](&p.collected) {
			out.RSSMiB = max(out.RSSMiB, float64(peak)/(1<<20))
		}
		addNumbers(res, p)
		if p.kind == sdk.KindTrainer {
			res.Losses[p.rank] = p.collected.losses
		}
		if list := r.parametersOf(p); list != nil {
			for q := range pieces[*record.Summary](&p.collected) {
				*list = append(*list, summary(q))
			}
		}
		res.Environment.NoteBLAS(p.facts)
		res.Processes = append(res.Processes, out)
	}
	for _, f := range r.nonFinite() {
		res.NonFinite, res.Warnings = append(res.NonFinite, f.NonFinite), append(res.Warnings, f.text)
	}
	res.Found, res.Scores = r.found()
	for rank, w := range r.warmedUp {
		res.Works = addWork(res.Works, r.processes.trainers[rank], w, record.WarmUp)
	}
	if r.passing == record.Measured || len(res.Works) == 0 { // the warm-up ended before it reported its work
		res.Works = append(res.Works, r.works()...)
	}
	res.Compute()
}

func summary(q *record.Summary) result.ParameterSummary {
	return result.ParameterSummary{
		Name: q.Name, Elements: q.Elements, DeltaSum: q.DeltaSum, DeltaSumSq: q.DeltaSumSq, DeltaHead: q.DeltaHead,
		Head: q.Head,
	}
}

// parametersOf returns the place in the result for the parameter summaries of a process. It returns nil if the process
// has none.
func (r *run) parametersOf(p *process) *[]result.ParameterSummary {
	switch {
	case p.kind == sdk.KindTrainer && r.result.Parameters != nil:
		return &r.result.Parameters[p.rank]
	case p.kind == sdk.KindServer && r.result.ServerParameters != nil:
		return &r.result.ServerParameters[p.position]
	default:
		return nil
	}
}

// nonFinite is the first non-finite value of a process, with a sentence about it.
type nonFinite struct {
	result.NonFinite
	text string
}

// nonFinite lists the non-finite values that the processes found, in the order of the processes.
func (r *run) nonFinite() (found []nonFinite) {
	for _, s := range r.processes.all {
		for q := range pieces[*record.NonFinite](&s.collected) {
			f := result.NonFinite{Rank: s.rank, Losses: q.Losses, Parameter: q.Parameter, Gradient: q.Gradient}
			if f.Losses > 0 {
				f.Epoch, f.Batch = q.Epoch, q.Batch
				f.Loss = strconv.FormatFloat(q.Loss, 'g', -1, 64)
			}
			found = append(found, nonFinite{f, inspect.Describe(s.Name, q)})
		}
	}
	return found
}
