//go:build nvidia

package device

import "github.com/psbench/psbench/sdk"

// whole is an iteration or an update. A whole lasts from the event at its beginning to the event at the end of its
// last phase. The end is known once that phase is read.
type whole struct {
	phase    Phase // Iteration or Update; 0 if there is none
	key      sdk.Key
	from, to int64 // times in ns of comm.Now
	complete bool  // whether its backward pass or its step has ended
}

// BeginUpdate declares that the following work on the compute stream, up to the end of a step, updates a server's
// parameters. BeginUpdate is not needed if the update begins with a mean or is only a step.
func (d *Device) BeginUpdate() { d.clock.update() }

func (c *clock) update() {
	if !c.updates {
		c.updates, c.opens = true, Update
	}
}

// gather adds a span to its whole. A step is the last phase of a whole. If a server does the step, the trainer's
// iteration ends with the last span before the next iteration.
func (c *clock) gather(s *span, from, to int64) {
	w := &c.whole
	if s.opens != 0 {
		c.close()
		*w = whole{phase: s.opens, key: s.key, from: from}
	}
	switch s.phase {
	case Evaluation:
		c.close()
	case Backward:
		w.to, w.complete = to, c.series[Step] == nil
	case Step:
		w.to, w.complete = to, true
		if w.phase == Update {
			w.key = s.key
		}
		c.close()
	default:
		w.to = to
	}
}

// close records the current whole if it is complete.
func (c *clock) close() {
	if w := &c.whole; w.phase != 0 && w.complete {
		c.series[w.phase].Record(w.key, w.from, w.to)
	}
	c.whole = whole{}
}
