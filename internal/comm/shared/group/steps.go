package group

import (
	"fmt"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/op"
	"github.com/psbench/psbench/internal/comm/shared/layout"
)

// start posts an operation. A waiter or the group's goroutine, whichever comes
// first, carries it out.
func (g *group) start(kind int32, batch int64, b *tensor.Bucket, root int) *comm.Future {
	if kind == stepAllReduce || kind == stepAverage || kind == stepReduceScatter {
		if err := op.RequireSum(g.Self, stepNames[kind], b, kind == stepAverage); err != nil {
			return comm.Completed(err)
		}
	}
	op, err := g.Begin(batch, b)
	if err != nil {
		return comm.Completed(err)
	}
	if g.Size() == 1 {
		g.Complete(&op.Operation)
		return op.Future()
	}
	op.Mean = kind == stepAverage
	s := g.byBucket[b.Index]
	s.kind, s.root = kind, root
	s.Locate(&b.Gradient)
	if s.Place == layout.OnDevice {
		if err := g.give(s); err != nil {
			g.Complete(&op.Operation)
			return comm.Completed(fmt.Errorf("%s, %s: %w", g.Self, op, err))
		}
	}
	switch {
	case s.Place == layout.InCopies && s.goesThroughSlots():
		s.Place = layout.InProcess
	case kind != stepBroadcast || root == g.Position():
		if err := s.Show(g.Self, &b.Gradient); err != nil {
			g.Complete(&op.Operation)
			return comm.Completed(fmt.Errorf("%s, %s: %w", g.Self, op, err))
		}
	}
	g.post(s)
	g.wakeHelper()
	return op.Future()
}

// post announces an operation to the other members and queues it.
func (g *group) post(s *step) {
	g.Mu.Lock()
	if err := g.Err(); err != nil { // failPending may have run
		g.End(&s.op.Operation, err, comm.Now())
		g.Mu.Unlock()
		return
	}
	s.number = g.posted
	g.posted++
	g.steps = append(g.steps, s)
	line := g.own.line(s.number)
	line.Kind, line.Place, line.Root, line.Batch = s.kind, s.Place, int32(s.root), s.op.Batch // #nosec G115 -- a position
	line.Bucket, line.Rows = int32(s.op.Spec.Index), 0                                        // #nosec G115 -- a bucket
	if s.op.Gradient != nil {
		line.Rows = int32(len(s.op.Gradient.Rows)) // #nosec G115 -- rows are int32
	}
	line.Posted.Store(s.number + 1)
	g.Mu.Unlock()
	g.ring()
}

func (m *member) line(number uint32) *layout.StepLine {
	return &m.lines[number%uint32(len(m.lines))] // #nosec G115 -- a small count
}

// ring rings the bells of members that sleep.
func (g *group) ring() {
	for _, m := range g.members {
		if m != g.own {
			m.bell.Ring()
		}
	}
}

// help carries out operations that have no waiter yet.
func (g *group) help() {
	for {
		select {
		case <-g.wake:
			g.drive(nil)
		case <-g.quit:
			return
		}
	}
}

// drive carries out posted operations in order, up to and including last, or
// all if last is nil. If another goroutine is already driving, drive leaves the
// work to that goroutine.
func (g *group) drive(last *op.Reduction) {
	for g.driving.TryLock() {
		ended := g.carryOutUntil(last)
		g.driving.Unlock()
		switch {
		case g.Ended():
			g.failPending()
			return
		case ended:
			g.wakeHelper() // other operations are not this waiter's work
			return
		}
		if s, _ := g.due(nil); s == nil {
			return
		}
		// Another goroutine may have posted an operation after the last check
		// but before the lock was released. That goroutine then relied on this
		// driver.
	}
}

// carryOutUntil carries out operations until last has ended or none is left;
// ended reports that last has ended. The caller holds driving.
func (g *group) carryOutUntil(last *op.Reduction) (ended bool) {
	for !g.Ended() {
		s, ended := g.due(last)
		if s == nil {
			return ended
		}
		if err := g.carryOut(s); err != nil {
			g.poison(err)
			return false
		}
		g.Mu.Lock()
		g.steps = append(g.steps[:0], g.steps[1:]...)
		g.Mu.Unlock()
		g.Complete(&s.op.Operation)
	}
	return false
}

// due returns the next operation to carry out, or nil if there is none or last
// has ended.
func (g *group) due(last *op.Reduction) (s *step, ended bool) {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	if last != nil && !last.Pending() {
		return nil, true
	}
	if len(g.steps) == 0 {
		return nil, false
	}
	return g.steps[0], false
}

func (g *group) wakeHelper() {
	select {
	case g.wake <- struct{}{}:
	default:
	}
}

// carryOut does this member's part of an operation and waits for the others'
// parts.
func (g *group) carryOut(s *step) (err error) {
	switch {
	case g.isAcross():
		err = g.carryAcross(s)
	case s.kind == stepBarrier:
		err = g.meet(s)
		g.end(s)
	case s.Place == layout.OnDevice:
		err = g.sumOnDevice(s)
	case s.kind == stepBroadcast:
		err = g.broadcast(s)
	case s.kind == stepReduceScatter:
		err = g.reduceScatter(s)
	case s.kind == stepAllGather:
		err = g.allGather(s)
	case s.kind == stepAllToAll:
		err = g.allToAll(s)
	case s.op.Spec.Sparse:
		err = g.sumRows(s)
	case isEager(&s.op.Spec):
		err = g.sumEagerly(s)
	default:
		err = g.sumSlices(s)
	}
	if err == nil && s.kind != stepBarrier {
		err = s.Fetch(s.op.Gradient)
	}
	return err
}

// of returns a member's bucket in shared memory. All members must have agreed
// on s.
func (s *step) of(m *member) *tensor.Bucket {
	switch {
	case m == s.group.own:
		return s.Bucket()
	case m.place == layout.OnDevice:
		return m.lent[s.ordinal]
	}
	return m.stores[m.place].Buckets[s.ordinal]
}

// values returns the values of a member's dense gradient. All members must have
// agreed on s.
func (s *step) values(m *member) []float32 { return s.of(m).Gradient.Values }

// waitPosted waits until all members have posted s and checks that they posted
// the same operation.
func (g *group) waitPosted(s *step) error {
	g.own.begun.Store(s.number + 1)
	g.ring()
	if err := g.await(s, allPosted); err != nil {
		return err
	}
	return g.agree(s)
}

// meet waits until all members have begun s and checks that they began the same
// operation.
func (g *group) meet(s *step) error {
	g.own.begun.Store(s.number + 1)
	g.ring()
	if err := g.await(s, allBegun); err != nil {
		return err
	}
	return g.agree(s)
}

// end announces that this member has ended s.
func (g *group) end(s *step) {
	g.own.ended.Store(s.number + 1)
	g.ring()
}

// endTogether announces that this member has ended s and waits until all
// members have.
func (g *group) endTogether(s *step) error {
	g.end(s)
	return g.await(s, allEnded)
}

// agree checks that every member posted the same operation as s, and records
// where each member's gradient is.
func (g *group) agree(s *step) error {
	own := g.own.line(s.number)
	for _, m := range g.members {
		line := m.line(s.number)
		if line.Kind != own.Kind || line.Bucket != own.Bucket || line.Batch != own.Batch || line.Root != own.Root {
			return fmt.Errorf("%s runs %s but %s runs %s: ranks must reduce the same buckets in the same order",
				g.Self, describeLine(own), m.name, describeLine(line))
		}
		m.place, m.rows = line.Place, line.Rows
		if err := g.checkPlace(s, m); err != nil {
			return err
		}
	}
	return nil
}

// checkPlace checks the place that a member gives for its gradient.
func (g *group) checkPlace(s *step, m *member) error {
	switch {
	case (m.place == layout.OnDevice) != (s.Place == layout.OnDevice):
		return fmt.Errorf("%s and %s have bucket %d in different memory, one of them on a device: all members must keep it on a device, or none",
			g.Self, m.name, s.op.Spec.Index)
	case m.place == layout.OnDevice:
		return nil
	case m.place == layout.InStore, m.place == layout.InCopies, m == g.own:
		return nil
	case m.place != layout.InProcess:
		return fmt.Errorf("%s posted bucket %d to %s from place %d, which does not exist", m.name, s.op.Spec.Index,
			g.Self, m.place)
	case !s.goesThroughSlots():
		return fmt.Errorf("%s posted %s of bucket %d to %s from its own memory, which only dense sums can come from",
			m.name, stepNames[s.kind], s.op.Spec.Index, g.Self)
	}
	return nil
}

// describeLine names the operation that a member has posted. The line may
// contain anything.
func describeLine(l *layout.StepLine) string {
	if l.Kind < 0 || int(l.Kind) >= len(stepNames) {
		return fmt.Sprintf("operation %d", l.Kind)
	}
	name := stepNames[l.Kind]
	switch l.Kind {
	case stepBarrier:
		return name
	case stepBroadcast:
		return fmt.Sprintf("%s of batch %d, bucket %d from position %d", name, l.Batch, l.Bucket, l.Root)
	default:
		return fmt.Sprintf("%s of batch %d, bucket %d", name, l.Batch, l.Bucket)
	}
}

func (s *step) describe() string {
	if s.kind == stepBarrier {
		return stepNames[s.kind]
	}
	return s.op.String()
}
