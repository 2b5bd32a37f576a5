//go:build nvidia

package device

import (
	"errors"

	"github.com/psbench/psbench/cuda/driver"
	"github.com/psbench/psbench/sdk"
)

// Phase is a part of an iteration on the compute stream.
type Phase int

// The phases. Each is a series of type DeviceMetric.
const (
	Forward Phase = iota
	Loss
	LossGradient
	Backward
	Exchange // work of other processes on shared buckets
	Mean     // mean of a bucket, in server batch_update
	Step
	Lookup  // lookup of a table's rows
	Scatter // adds the gradients of bags to their rows
	TransferIn
	TransferOut
	Evaluation // forward pass and loss of a batch without training
	Iteration  // iteration of a trainer, from its first to its last phase (wholes.go)
	Update     // update of a server's parameters, from its first to its last phase
	phases     // number of phases
)

var phaseNames = [phases]string{
	"device forward", "device loss", "device loss gradient", "device backward", "device exchange", "device average",
	"device optimizer",
	"device lookup", "device scatter", "device transfer in", "device transfer out",
	"device evaluation", "device iteration", "device update",
}

// inFlightSpans is how many spans may be in flight. An iteration has 6 spans and its transfers. A span is read by
// the next iteration at the latest, or by EndPass.
const inFlightSpans = 128

// span is a phase that is in flight.
type span struct {
	phase      Phase
	key        sdk.Key
	begin, end *driver.Event
	ended      bool
	opens      Phase // the whole that begins with this span; 0: none
}

// Begin and End enclose the kernels of a phase. Several spans are not measured: a phase that does not end, and a
// span for which there is no room. A forward pass and a loss without a backward pass are not measured either,
// unless Evaluate was called; then they are one span. An exchange without a backward pass before it, in which a
// trainer fetches its model, is also not measured.
func (d *Device) Begin(p Phase) {
	c := &d.clock
	if p == Forward {
		c.evaluating, c.evaluates = c.evaluates, false
	}
	switch {
	case !c.evaluating:
		c.enter(p)
		c.begin(p)
	case p == Forward:
		c.pause()
		c.begin(Evaluation)
		c.pass = c.next
	}
}

// End ends the phase that Begin began.
func (d *Device) End(p Phase) {
	c := &d.clock
	switch {
	case !c.evaluating:
		c.end(p)
	case p == Loss:
		c.end(Evaluation)
	}
}

// Evaluate declares that the next forward pass belongs to an evaluation.
func (d *Device) Evaluate() { d.clock.evaluates = true }

// pause ends an iteration before an evaluation.
func (c *clock) pause() {
	if c.backed {
		c.turn()
		c.backed = false
		return
	}
	c.next = max(c.first, c.pass)
}

// enter updates the position within an iteration for a phase.
func (c *clock) enter(p Phase) {
	switch {
	case p == Backward:
		c.backed = true
	case p == Forward && !c.backed:
		c.next = max(c.first, c.pass)
		c.counts[Forward], c.counts[Loss], c.counts[LossGradient] = c.counts[Backward], c.counts[Backward],
			c.counts[Backward]
		c.counts[TransferIn], c.counts[TransferOut] = 0, 0
		c.pass, c.before = c.next, c.lane.Queue.Launches()
	case p == Forward:
		c.turn()
		c.pass, c.backed = c.next, false
	// A server's iteration is a step with the means before it.
	case c.counts[Mean] == 0 && (p == Mean || p == Step && c.counts[Backward] == 0):
		c.turn()
		c.update()
	case p == Step:
		c.counts[Mean] = 0
	}
	switch p {
	case Forward:
		c.opens = Iteration
	case Step:
		c.updates = false
	}
}

// begin begins the span of a phase.
func (c *clock) begin(p Phase) {
	opens := c.opens
	c.opens = 0
	fetches := p == Exchange && c.counts[Exchange] == c.counts[Backward]
	if c.recorder == nil || c.passes.Load() == 0 || c.next-c.first == inFlightSpans || fetches {
		c.phased[p] = -1
		return
	}
	c.declare(p)
	if opens != 0 {
		c.declare(opens)
	}
	s := &c.spans[c.next%inFlightSpans]
	s.phase, s.key, s.ended, s.opens = p, c.key(p), false, opens
	if s.begin.Record(c.lane.Stream) != nil { // the stream's next call reports the error
		c.phased[p] = -1
		return
	}
	c.phased[p] = c.next
	c.next++
	c.counts[p]++
}

// declare creates the series of a phase once, so that a process has only the series of its phases.
func (c *clock) declare(p Phase) {
	if c.series[p] == nil {
		c.series[p] = c.recorder.Series(DeviceMetric, phaseNames[p])
	}
}

// end ends the span of a phase.
func (c *clock) end(p Phase) {
	if c.series[p] == nil || c.phased[p] < c.first {
		return
	}
	s := &c.spans[c.phased[p]%inFlightSpans]
	s.ended = s.end.Record(c.lane.Stream) == nil
}

// key returns the number of a span. Most phases occur once per iteration and are numbered over the pass. Transfers
// and means are numbered within their iteration, and batches of an evaluation after their iteration.
func (c *clock) key(p Phase) sdk.Key {
	switch p {
	case TransferIn, TransferOut, Mean:
		return sdk.Key{A: c.turns.Load(), B: c.counts[p]}
	case Evaluation:
		return sdk.Key{A: max(0, c.turns.Load()-1), B: c.counts[p]}
	}
	return sdk.Key{A: c.counts[p]}
}

// turn ends an iteration, records its launches, and begins the next one.
func (c *clock) turn() {
	now := c.lane.Queue.Launches()
	if c.begun && c.launches != nil {
		c.launches.Record(sdk.Key{A: c.turns.Load()}, float64(now-c.before))
		c.turns.Add(1)
	}
	c.begun, c.before, c.counts[TransferIn], c.counts[TransferOut], c.counts[Evaluation] = true, now, 0, 0, 0
}

// Read records the spans that have ended. evaluating means that a loss was computed and a backward pass may or may
// not follow; Read then skips the spans of that iteration. The compute stream is idle at that time, so Read sets
// the clock if the last setting is old.
func (d *Device) Read(evaluating bool) error {
	c := &d.clock
	if err := c.read(c.ended(evaluating)); err != nil {
		return err
	}
	if evaluating && c.recorder != nil {
		return d.KeepTime()
	}
	return nil
}

// EndPass records the remaining spans that have ended. After a complete pass all have ended, because a trainer has
// read its parameters or a table has waited. EndPass does not wait for work.
func (d *Device) EndPass() error {
	c := &d.clock
	if c.backed {
		c.turn()
		c.begun = false
	}
	if err := c.read(c.ended(!c.backed)); err != nil {
		return err
	}
	c.close()
	return errors.Join(d.out.read(), d.in.read(), d.readSums(), d.EndTime())
}

// ended returns the number up to which spans belong to complete iterations.
func (c *clock) ended(evaluating bool) int64 {
	if evaluating {
		return c.pass
	}
	return c.next
}

// read records the spans before end that have ended.
func (c *clock) read(end int64) error {
	for ; c.first < end; c.first++ {
		s := &c.spans[c.first%inFlightSpans]
		if !s.ended {
			continue
		}
		if over, err := s.end.Query(); err != nil || !over {
			return err
		}
		from, to, err := c.between(s.begin, s.end)
		if err != nil {
			return err
		}
		c.series[s.phase].Record(s.key, from, to)
		c.gather(s, from, to)
	}
	return nil
}
