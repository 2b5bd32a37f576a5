package servers

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
	"github.com/psbench/psbench/sdk/optimizer"
)

// BatchUpdateSettings are the settings of the batch-updating server.
type BatchUpdateSettings struct {
	optimizer.Settings
	BatchUpdateSize int `json:"batch_update_size" doc:"trainers whose gradients make one update; 0: all trainers of the server"`
}

// DefaultBatchUpdate are the default settings, taken from the original.
var DefaultBatchUpdate = BatchUpdateSettings{Settings: optimizer.Defaults(0.001, 0.9)}

// batchUpdate holds the model and its optimizer. A trainer's batch 0 fetches the parameters; the server ignores the
// pushed values. Each later batch is a report: the gradients of all buckets. When a round has all its reports, the
// server averages them and steps the optimizer. The server answers every trainer of the round with the new
// parameters.
//
// A round has batch_update_size reports. If fewer trainers wait or have batches left, the round has only their
// reports. Otherwise, the last reports of a pass would wait forever.
//
// The server adds reports in the order of trainers, so that a round of the same trainers has the same bits in every
// run. With n parameters, a report costs n additions (n copies for trainer 0), and an update costs one optimizer
// step. If the engine averages (engine.Averager), a report costs n copies and the engine does the additions. If a
// trainer shares its buckets with the engine (engine.Borrower), there are no copies and no wait for the update. A
// report counts once its last bucket has arrived. Until then, another trainer may complete the round.
type batchUpdate struct {
	settings BatchUpdateSettings
	env      sdk.ServerEnv
	size     int // reports per round
	*held        // parameters and gradients; the gradients are the means of the rounds

	got, updated *sdk.Series

	mu        sync.Mutex
	optimizer optimizer.Optimizer
	reports   []report // by trainer
	waiting   []int    // the trainers that have a report in the round
	coming    int      // trainers that are not waiting and have batches left
	updates   int64
	failed    error // error of Reset
}

// report is the data that one trainer has pushed for its current batch.
type report struct {
	batch  int64
	pushes []sdk.Push // pushes by bucket; no gradient until the push arrives
	there  int        // number of pushes that have arrived
	done   int        // batches with a complete report
	all    int        // batches of the pass; math.MaxInt while unknown
}

// left returns how many batches have no complete report yet.
func (r *report) left() int { return r.all - r.done }

var (
	_ sdk.Holder       = (*batchUpdate)(nil)
	_ sdk.Expecter     = (*batchUpdate)(nil)
	_ sdk.DeviceServer = (*batchUpdate)(nil)
)

// NewBatchUpdate builds the batch-updating server. NewBatchUpdate returns an error if settings are out of range,
// there is no model, or the model has sparse gradients.
func NewBatchUpdate(s BatchUpdateSettings, env sdk.ServerEnv) (sdk.Server, error) {
	if err := s.Check(DefaultBatchUpdate.Settings); err != nil {
		return nil, fmt.Errorf("setting %w", err)
	}
	if s.BatchUpdateSize < 0 || s.BatchUpdateSize > env.Trainers {
		return nil, fmt.Errorf("setting batch_update_size is %d but must be from 0 to %d, the trainers of %s",
			s.BatchUpdateSize, env.Trainers, env.Name)
	}
	if env.Model == nil {
		return nil,
			errors.New("the batch_update server needs the run's model but got none: the registry must list it as serving parameters")
	}
	b := &batchUpdate{
		settings: s, env: env, size: s.BatchUpdateSize,
		got:     env.Recorder.Series("batch_update_metric", "got update"),
		updated: env.Recorder.Series("batch_update_metric", "updated model"),
		reports: make([]report, env.Trainers), waiting: make([]int, 0, env.Trainers),
	}
	if b.size == 0 {
		b.size = env.Trainers
	}
	for t := range b.reports {
		b.reports[t].pushes = make([]sdk.Push, len(env.Buckets))
	}
	return b, b.bind()
}

// bind gives the model its values and gradients.
func (b *batchUpdate) bind() error {
	var err error
	if b.held, err = newHeld(&b.env); err != nil {
		return err
	}
	b.optimizer, err = optimizer.New(b.env.Engine, b.settings.Settings, b.values, b.gradients)
	if err == nil {
		err = b.env.Model.Bind(b.values, b.gradients)
	}
	if err != nil {
		_ = b.Close() // the host does not close a part whose constructor failed; err is the first error
	}
	return err
}

// Receive holds the lock until it has answered the whole round. Otherwise, a trainer that has its answer could push
// again while others still read the parameters.
func (b *batchUpdate) Receive(p sdk.Push) error {
	arrived := comm.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failed != nil {
		return b.failed
	}
	if p.Batch == 0 {
		return b.fetch(p)
	}
	complete, err := b.take(p)
	if err != nil || !complete {
		return err
	}
	if err := b.add(p.Trainer); err != nil {
		return err
	}
	b.got.Record(sdk.Key{A: int64(len(b.waiting)), B: int64(b.round())}, arrived, comm.Now())
	return b.settle()
}

// fetch answers a push of batch 0.
func (b *batchUpdate) fetch(p sdk.Push) error {
	if loan := borrow(b.engine, p.Gradient.Values); loan != nil {
		if err := loan.Take(); err != nil { // the trainer's earlier work may still use the memory
			return err
		}
	}
	return b.give(p)
}

// round returns how many reports the round needs.
func (b *batchUpdate) round() int { return min(b.size, len(b.waiting)+b.coming) }

// settle ends the round if it has all its reports.
func (b *batchUpdate) settle() error {
	if len(b.waiting) == 0 || len(b.waiting) < b.round() {
		return nil
	}
	if err := b.update(); err != nil {
		return err
	}
	return b.answer()
}

// Expect implements sdk.Expecter. If the number of batches becomes known during a pass, a round may need fewer
// reports from then on.
func (b *batchUpdate) Expect(batches []int) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if batches != nil && len(batches) != len(b.reports) {
		return fmt.Errorf("%s got the batch counts of %d trainers but has %d trainers", b.env.Name, len(batches),
			len(b.reports))
	}
	b.coming = 0
	for t := range b.reports {
		r := &b.reports[t]
		r.all = math.MaxInt
		if batches != nil {
			r.all = batches[t]
		}
		if r.left() > 0 && !slices.Contains(b.waiting, t) {
			b.coming++
		}
	}
	return b.settle()
}

// take records a push. take returns true if the push completes the trainer's report.
func (b *batchUpdate) take(p sdk.Push) (complete bool, err error) {
	r := &b.reports[p.Trainer]
	switch {
	case r.left() <= 0:
		return false, fmt.Errorf("trainer %d pushed batch %d to %s but has only %d batches", p.Trainer, p.Batch,
			b.env.Name, r.all)
	case r.there > 0 && r.batch != p.Batch:
		return false,
			fmt.Errorf("trainer %d pushed batch %d of bucket %d to %s while buckets of its batch %d are missing",
				p.Trainer, p.Batch, p.Bucket, b.env.Name, r.batch)
	case r.pushes[p.Bucket].Gradient != nil:
		return false, fmt.Errorf("trainer %d pushed bucket %d twice to %s, batch %d, without an answer", p.Trainer,
			p.Bucket, b.env.Name, p.Batch)
	}
	r.batch, r.pushes[p.Bucket] = p.Batch, p
	r.there++
	return r.there == len(r.pushes), nil
}

// add adds a complete report to the round.
func (b *batchUpdate) add(trainer int) error {
	r := &b.reports[trainer]
	if err := b.means.take(trainer, r.pushes, len(b.waiting) == 0); err != nil {
		return err
	}
	b.waiting = append(b.waiting, trainer)
	b.coming--
	r.done++
	return nil
}

// update averages the round's gradients and steps the optimizer.
func (b *batchUpdate) update() error {
	start := comm.Now()
	reports := len(b.waiting)
	slices.Sort(b.waiting)
	if err := b.means.mean(b.waiting); err != nil {
		return err
	}
	if err := b.optimizer.Step(); err != nil {
		return err
	}
	b.shown = false
	if b.stages() {
		if err := b.showParameters(); err != nil {
			return err
		}
	}
	b.updated.Record(sdk.Key{A: b.updates, B: int64(reports)}, start, comm.Now())
	b.updates++
	return nil
}

// stages reports whether some trainer of the round gets its answer in ordinary memory.
func (b *batchUpdate) stages() bool {
	return slices.ContainsFunc(b.waiting, func(t int) bool {
		return slices.ContainsFunc(b.reports[t].pushes,
			func(p sdk.Push) bool { return borrow(b.engine, p.Gradient.Values) == nil })
	})
}

// answer sends the parameters to the trainers of the round and starts the next round.
func (b *batchUpdate) answer() error {
	for _, t := range b.waiting {
		r := &b.reports[t]
		for _, p := range r.pushes {
			if err := b.give(p); err != nil {
				return err
			}
		}
		clear(r.pushes)
		r.there = 0
		if r.left() > 0 {
			b.coming++
		}
	}
	b.waiting = b.waiting[:0]
	return nil
}

// Reset implements sdk.Server: it restores the initial parameters and an optimizer without steps. The host calls
// Expect after Reset to set the number of batches.
func (b *batchUpdate) Reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.env.Model.Initialize(b.env.Seed)
	b.failed, b.shown = b.optimizer.Reset(), false
	b.waiting, b.coming, b.updates = b.waiting[:0], len(b.reports), 0
	for t := range b.reports {
		r := &b.reports[t]
		clear(r.pushes)
		r.there, r.done, r.all = 0, 0, math.MaxInt
	}
}

// Held implements sdk.Holder.
func (b *batchUpdate) Held() ([]sdk.ParameterSpec, []tensor.Tensor) { return b.specs, b.values }

// Device implements sdk.DeviceServer.
func (b *batchUpdate) Device() comm.Device {
	if d, ok := b.engine.(engine.Borrower); ok {
		return d
	}
	return nil
}
