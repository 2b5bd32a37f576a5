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

// settle fixes the lengths of the passes once the number of batches in an epoch is known.
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

// mostEpochs returns an upper bound for the epochs of both passes before the data is partitioned, because an epoch has
// at least one iteration. For a timed pass it returns the largest number that a trainer accepts.
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

// epochs returns how many epochs a trainer begins in a pass, or 0 for a timed pass.
func (r *run) epochs(pass record.Pass, rank int) int {
	return r.lengths[pass].EpochsOf(r.shares[rank].Batches)
}

// iterations returns how many iterations a trainer runs in a pass, or 0 for a timed pass.
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

// intervals maps a pass to its interval of the noise meter.
var intervals = map[record.Pass]string{record.WarmUp: noise.WarmUp, record.Measured: noise.Measured}

// train resets every process and trains once. It stores the work of a warm-up, because the next reset erases it in the
// processes.
func (r *run) train(ctx context.Context, pass record.Pass) error {
	works, err := r.pass(ctx, pass)
	if err == nil && pass == record.WarmUp {
		r.warmedUp = works
	}
	return err
}

// pass resets every process and trains once. It returns each trainer's work.
func (r *run) pass(ctx context.Context, pass record.Pass) ([]record.Work, error) {
	// Companions are reset after their trainers. Resetting a trainer also initializes the model in its companion, and
	// each process discards everything that it recorded before its own reset.
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

// batches returns the number of iterations of each trainer in a pass, or nil if it is unknown.
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

// expect tells each server how many batches each of its trainers has in the pass.
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

// mostAhead is the longest time before the end of a timed pass at which psbench announces the end. All processes must
// be asked and answered within this time. Otherwise trainers that finish early wait for the others.
const mostAhead = 200 * time.Millisecond

// endLater ends a pass after a given time; 0 means never. The caller must call ended once the pass is over. ended waits
// for a running announcement and returns its error.
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
			result <- nil // Train returns the same error
		}
	}()
	return func() error {
		close(over)
		return <-result
	}
}

// end agrees with the trainers on the last iteration of the pass, ahead of the pass's end; see stop.Point.
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
	if err := r.expect(ctx, ends); err != nil { // before any trainer can end its pass
		return err
	}
	return cluster.Each(ctx, r.cluster, r.processes.trainers,
		cluster.Wait{Limit: r.e.Timeout, For: "the end of its pass"}, func(ctx context.Context, p *process) error {
			_, err := p.End(ctx, endRequest(ends[p.rank]))
			return err
		})
}
