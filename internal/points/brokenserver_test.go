//go:build !race

package points

import (
	"slices"
	"sync"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/points/harness"
	"github.com/psbench/psbench/sdk"
)

// adding returns the sum of gradients.
type adding struct{ sound }

func (a *adding) Combine(sum []float32, others [][]float32) {
	if a.has("a panic") && len(others) == 1 && len(sum) == 7 { // occurs in a host, but not in the kit
		panic("of one other")
	}
	if a.has("a median of what is there") {
		for i := range sum {
			all := []float32{sum[i]}
			for _, other := range others {
				all = append(all, other[i])
			}
			slices.Sort(all)
			sum[i] = (all[(len(all)-1)/2] + all[len(all)/2]) / 2
		}
		return
	}
	for _, other := range others {
		for i, v := range other {
			if a.has("the mean of the last two") {
				sum[i] = (sum[i] - v) / 2
			}
			sum[i] += v
			if a.has("the gradients of others are overwritten") {
				other[i] = 0
			}
		}
	}
	if a.has("an answer that depends on the place in the block") && len(sum) > 0 {
		sum[0]++
	}
}

func (a *adding) Finish([]float32) {}

// collecting answers all trainers with the sum when the last gradient arrives.
type collecting struct {
	sound
	mu       sync.Mutex
	trainers int
	pending  map[[2]int64][]sdk.Push
	before   float32
	last     sdk.Push // the last answered push
	arrived  chan struct{}
}

func (c *collecting) Receive(p sdk.Push) error {
	if c.has("a panic") {
		panic("at the first push")
	}
	if c.has("Receive waits for the last trainer") && p.Trainer == 0 && c.trainers > 1 {
		<-c.arrived
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	key := [2]int64{p.Batch, int64(p.Bucket)}
	c.pending[key] = append(c.pending[key], p)
	if len(c.pending[key]) < c.trainers || c.has("no answer") {
		return nil
	}
	pushes := c.pending[key]
	delete(c.pending, key)
	// For sparse gradients, each trainer gets its own gradient back.
	for i, v := range pushes[0].Gradient.Values {
		for _, other := range pushes[1:] {
			if !p.Gradient.Sparse() {
				v += other.Gradient.Values[i]
			}
		}
		pushes[0].Gradient.Values[i] = v
	}
	full := !p.Gradient.Sparse() && len(p.Gradient.Values) > 0
	if c.has("something is kept over a reset") && full {
		c.before++
		pushes[0].Gradient.Values[0] += c.before
	}
	for i, push := range pushes {
		if i == 0 && full && c.has("another answer than it says") {
			pushes[0].Gradient.Values[0]++
		}
		if c.has("each trainer has another answer") && i > 0 && full {
			pushes[0].Gradient.Values[0]++
		}
		if err := push.Answer(pushes[0].Gradient); err != nil {
			return err
		}
		c.last = push
		if c.has("two answers") {
			if err := push.Answer(pushes[0].Gradient); err != nil {
				return err
			}
		}
	}
	return nil
}

// Answer implements sdk.Answerer.
func (c *collecting) Answer(x *sdk.Exchange, answer *tensor.Gradient) error {
	if x.Bucket.Sparse || c.fault != "" && !c.has("another answer than it says") {
		return sdk.ErrNoAnswer
	}
	return x.Sum(answer)
}

func (c *collecting) Reset() {
	if last := c.last; c.has("an answer after its pass") && last.Gradient != nil {
		time.AfterFunc(harness.Moment/3, func() { _ = last.Answer(last.Gradient) })
	}
}

// rows is a table that stores the values of its updates.
type rows struct {
	sound
	values []float32
	asked  *comm.TableCall // the last call
}

func (*rows) Table() comm.TableSpec { return comm.TableSpec{Rows: 5, Width: 2} }
func (t *rows) Lookup(call *comm.TableCall) error {
	t.asked = &comm.TableCall{Offsets: slices.Clone(call.Offsets), Indices: slices.Clone(call.Indices)}
	for i := range call.Bags() {
		out := call.Columns(i)
		clear(out)
		bag := call.Bag(i)
		switch {
		case t.has("a bag of its first row"):
			bag = bag[:min(1, len(bag))]
		case t.has("a row counts once in a bag"):
			bag = slices.Compact(slices.Clone(bag))
		}
		for _, row := range bag {
			out[0] += t.values[2*row]
			out[1] += t.values[2*row+1]
		}
		if t.has("columns of another table") && call.Stride > call.Width {
			call.Values[i*call.Stride+call.Width] = 0
		}
	}
	return nil
}

func (t *rows) Update(call *comm.TableCall) error {
	bags := call
	switch {
	case t.has("bags of whoever asked last"):
		bags = t.asked
	case t.has("a panic"):
		panic("at the first update")
	}
	stepped := map[int64]bool{}
	for i := range min(call.Bags(), bags.Bags()) {
		if t.has("the last bag alone is applied") && i < call.Bags()-1 {
			continue
		}
		bag := bags.Bag(i)
		if t.has("a gradient counts once for a bag") {
			bag = slices.Compact(slices.Clone(bag))
		}
		for _, row := range bag {
			if t.has("a gradient counts once for a call") && stepped[row] {
				continue
			}
			stepped[row] = true
			t.values[2*row] -= call.Columns(i)[0]
			t.values[2*row+1] -= call.Columns(i)[1]
		}
	}
	if t.has("a row that no bag held") {
		t.values[9]++
	}
	return nil
}

func (t *rows) Reset() {
	if !t.has("a table that is not reset") || t.values == nil {
		t.values = elements(0, 10)
	}
}
