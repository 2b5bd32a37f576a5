package run

import (
	"context"
	"math"
	"time"

	"github.com/psbench/psbench/core/host/noise"
	"github.com/psbench/psbench/core/process/cluster"
	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/internal/host/stop"
	"github.com/psbench/psbench/sdk"
)

// settle decides how long the passes are, since the batches of an epoch are known.
func (r *run) settle() {
	fewest := math.MaxInt
	for _, s := range r.shares {
		fewest = min(fewest, s.Batches)
	}
	r.lengths = map[record.Pass]stop.Length{
		record.WarmUp: r.e.WarmUp.Settle(fewest), record.Measured: r.e.Length.Settle(fewest),
	}
	r.result.Config = r.e.Decided(r.lengths[record.Measured].Epochs)
}

// mostEpochs bounds the epochs of both passes before the data is partitioned: an epoch has an
// iteration at least. For a timed pass it is the most that a trainer accepts.
func (r *run) mostEpochs() int32 {
	most := 0
	for _, l := range []stop.Length{r.e.WarmUp, r.e.Length} {
		if l.Time > 0 {
			return math.MaxInt32
		}
		most = max(most, l.Epochs, l.Iterations, l.Least)
	}
	return int32(most) // #nosec G115 -- checked by config
}

// epochs are those that a trainer begins in a pass, or 0 of a pass that is timed.
func (r *run) epochs(pass record.Pass, rank int) int {
	return r.lengths[pass].EpochsOf(r.shares[rank].Batches)
}

// iterations are those that a trainer runs in a pass, or 0 of a pass that is timed.
func (r *run) iterations(pass record.Pass, rank int) int {
	return r.lengths[pass].IterationsOf(r.shares[rank].Batches)
}

func (r *run) warmUp(ctx context.Context) error {
	return r.train(ctx, record.WarmUp)
}

func (r *run) measure(ctx context.Context) error {
	err := r.train(ctx, record.Measured)
	r.noise.Begin(noise.After)
	return err
}

// intervals are the intervals of the noise meter in which passes run.
var intervals = map[record.Pass]string{record.WarmUp: noise.WarmUp, record.Measured: noise.Measured}

// train resets every process and trains once. It keeps the work of a warm-up, which the next reset
// erases.
func (r *run) train(ctx context.Context, pass record.Pass) error {
	works, err := r.pass(ctx, pass)
	if err == nil && pass == record.WarmUp {
		r.warmedUp = works
	}
	return err
}

// pass resets every process and trains once. It gives what each trainer did.
func (r *run) pass(ctx context.Context, pass record.Pass) ([]record.Work, error) {
	// Companions come after their trainers, whose reset initializes the model beside them: each
	// forgets what was recorded before its own.
	ranks, companions := r.processes.parted()
	for _, some := range [][]*process{ranks, companions} {
		if err := cluster.Reset(ctx, r.cluster, some, pass); err != nil {
			return nil, err
		}
	}
	r.noise.Begin(intervals[pass])
	r.passing = pass
	r.tell(pass)
	if err := r.expect(ctx, r.batches(pass)); err != nil {
		return nil, err
	}
	ended := r.endLater(ctx, r.lengths[pass].Time)
	works := make([]record.Work, len(r.processes.trainers))
	err := cluster.Each(ctx, r.cluster, r.processes.trainers, cluster.Unbounded,
		func(ctx context.Context, p *process) error {
			reply, err := p.Train(ctx, trainRequest(r.lengths[pass]))
			works[p.rank] = workOf(reply)
			return err
		})
	if eerr := ended(); err == nil {
		err = eerr
	}
	return works, err
}

// batches is the number of iterations of each trainer in a pass; nil if unknown.
func (r *run) batches(pass record.Pass) []int64 {
	if r.lengths[pass].Time > 0 {
		return nil
	}
	batches := make([]int64, len(r.processes.trainers))
	for rank := range batches {
		batches[rank] = int64(r.iterations(pass, rank))
	}
	return batches
}

// expect tells the servers that trainers push to how many batches each of those has in the
// pass.
func (r *run) expect(ctx context.Context, batches []int64) error {
	if r.e.Service == sdk.ServiceTables || !r.e.Links.Server {
		return nil
	}
	return cluster.Each(ctx, r.cluster, r.processes.servers, cluster.Wait{Limit: r.e.Timeout, For: "its pass"},
		func(ctx context.Context, p *process) error {
			var pushers []int
			for _, t := range cluster.FirstOf(r.together(p)) {
				pushers = append(pushers, t.rank)
			}
			_, err := p.Expect(ctx, expectRequest(batches, pushers))
			return err
		})
}

// mostAhead is how long before its end a timed pass is told where it ends. All processes must
// have been asked and told by then, or those that are done wait for the others to be.
const mostAhead = 200 * time.Millisecond

// endLater ends a pass after some time, unless that is 0. ended is to be called when the pass
// is over; it waits until nobody is told anything any more, and says what went wrong.
func (r *run) endLater(ctx context.Context, after time.Duration) (ended func() error) {
	if after == 0 {
		return func() error { return nil }
	}
	ahead := min(mostAhead, after/2)
	timer := time.NewTimer(after - ahead)
	over, result := make(chan struct{}), make(chan error, 1)
	go func() {
		defer timer.Stop()
		select {
		case <-timer.C:
			result <- r.end(ctx, ahead)
		case <-over:
			result <- nil
		case <-ctx.Done():
			result <- nil // which Train fails of, too
		}
	}()
	return func() error {
		close(over)
		return <-result
	}
}

// end agrees with the trainers on where the pass ends, so far ahead, as stop.Point says.
func (r *run) end(ctx context.Context, ahead time.Duration) error {
	bounds := make([]int64, len(r.processes.trainers))
	err := cluster.Each(ctx, r.cluster, r.processes.trainers,
		cluster.Wait{Limit: r.e.Timeout, For: "how far its pass is"}, func(ctx context.Context, p *process) error {
			reply, err := p.Bound(ctx, boundRequest(ahead))
			bounds[p.rank] = reply.GetIterations()
			return err
		})
	if err != nil {
		return err
	}
	ends := stop.Together(bounds, r.e.Connected())
	if err := r.expect(ctx, ends); err != nil { // before any trainer can be there
		return err
	}
	return cluster.Each(ctx, r.cluster, r.processes.trainers,
		cluster.Wait{Limit: r.e.Timeout, For: "the end of its pass"}, func(ctx context.Context, p *process) error {
			_, err := p.End(ctx, endRequest(ends[p.rank]))
			return err
		})
}
