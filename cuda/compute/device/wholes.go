//go:build nvidia

package device

import "github.com/psbench/psbench/sdk"

// whole is an iteration or an update: the time from the event at its beginning to the one at the end of its
// last phase, which is known once that is read.
type whole struct {
	phase    Phase // Iteration or Update; 0 if there is none
	key      sdk.Key
	from, to int64 // in ns of comm.Now
	complete bool  // it has had its backward pass or its step
}

// BeginUpdate says that what the compute stream is given next, up to the end of a step, updates what a server
// holds. Where that begins with a mean, or is a step alone, nobody need say it.
func (d *Device) BeginUpdate() { d.clock.update() }

func (c *clock) update() {
	if !c.updates {
		c.updates, c.opens = true, Update
	}
}

// gather adds a span that was read to the whole that it is of. A step is the last phase of either; a trainer whose
// server steps has none, and its iteration ends with what was read before the next one begins.
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

// close records the whole that is being read, if it has come to its end.
func (c *clock) close() {
	if w := &c.whole; w.phase != 0 && w.complete {
		c.series[w.phase].Record(w.key, w.from, w.to)
	}
	c.whole = whole{}
}
