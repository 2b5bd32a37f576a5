//go:build nvidia

package device

import (
	"errors"

	"github.com/psbench/psbench/cuda/driver"
	"github.com/psbench/psbench/sdk"
)

// Phase is a piece of an iteration on the compute stream.
type Phase int

// The phases, which are series of type DeviceMetric.
const (
	Forward Phase = iota
	Loss
	LossGradient
	Backward
	Exchange // what others do with the buckets that they share
	Mean     // of a bucket, in server batch_update
	Step
	Lookup  // of a table's rows
	Scatter // of gradients of bags to the rows that they name
	TransferIn
	TransferOut
	Evaluation // forward pass and loss of a batch that nothing is learned from
	Iteration  // of a trainer, and
	Update     // of what a server holds: from their first phase to their last one (wholes.go)
	phases     // how many there are
)

var phaseNames = [phases]string{
	"device forward", "device loss", "device loss gradient", "device backward", "device exchange", "device average",
	"device optimizer",
	"device lookup", "device scatter", "device transfer in", "device transfer out",
	"device evaluation", "device iteration", "device update",
}

// inFlightSpans is how many spans may wait for their end. An iteration has 6 and its transfers, and a span
// is read in the next iteration at the latest, or by EndPass.
const inFlightSpans = 128

// span is a phase that is in flight.
type span struct {
	phase      Phase
	key        sdk.Key
	begin, end *driver.Event
	ended      bool
	opens      Phase // the whole that begins with it; 0 if none does
}

// Begin and End go around the kernels of a phase. A phase that does not end, or whose span has no room,
// is not measured, nor are a forward pass and a loss that no backward pass follows, and an exchange that none
// comes before, in which a trainer fetches its model; those of an evaluation, for which Evaluate was called, are
// one span.
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

// End ends what Begin began.
func (d *Device) End(p Phase) {
	c := &d.clock
	switch {
	case !c.evaluating:
		c.end(p)
	case p == Loss:
		c.end(Evaluation)
	}
}

// Evaluate says that nothing is learned from the batch that goes forward next.
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

// enter notes where in an iteration a phase is.
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
	// An iteration of a server is a step, with the means before it.
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
	if s.begin.Record(c.lane.Stream) != nil { // which the stream's next call tells
		c.phased[p] = -1
		return
	}
	c.phased[p] = c.next
	c.next++
	c.counts[p]++
}

// declare makes the series of a phase, once, so that a process has the phases alone that it goes through.
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

// key counts phases, of which an iteration has one each, the transfers and means of an iteration, and the batches
// of the evaluation after it.
func (c *clock) key(p Phase) sdk.Key {
	switch p {
	case TransferIn, TransferOut, Mean:
		return sdk.Key{A: c.turns.Load(), B: c.counts[p]}
	case Evaluation:
		return sdk.Key{A: max(0, c.turns.Load()-1), B: c.counts[p]}
	}
	return sdk.Key{A: c.counts[p]}
}

// turn ends an iteration, whose launches are counted, and begins another one.
func (c *clock) turn() {
	now := c.lane.Queue.Launches()
	if c.begun && c.launches != nil {
		c.launches.Record(sdk.Key{A: c.turns.Load()}, float64(now-c.before))
		c.turns.Add(1)
	}
	c.begun, c.before, c.counts[TransferIn], c.counts[TransferOut], c.counts[Evaluation] = true, now, 0, 0, 0
}

// Read records the spans that have ended. evaluating says that a loss was computed, and nobody knows yet
// whether a backward pass follows: then it leaves that iteration's out. The compute stream has no work then,
// so that the clock may be set where that was long ago.
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

// EndPass reads what no later iteration reads, as far as it has ended. After a pass it has, since a trainer has
// looked at its parameters and a table has waited. It waits for no work.
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

// ended is up to which span those of iterations go.
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
