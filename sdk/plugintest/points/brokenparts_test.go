//go:build !race

package points

import (
	"context"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"sync"
	"time"
	"unsafe"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/dataparallel"
)

// sound are parts that keep their contracts; fault says in what way one does not.
type sound struct{ fault string }

func (s sound) has(fault string) bool { return s.fault == fault }

// brokenSquares is half of the mean squared distance to the target.
type brokenSquares struct {
	sound
	output  tensor.Tensor
	targets []int64
	calls   float64
}

func (c *brokenSquares) Forward(output tensor.Tensor, targets []int64) (float64, error) {
	c.output, c.targets, c.calls = output, targets, c.calls+1
	sum := 0.0
	for i, v := range output.Data {
		d := float64(v) - float64(targets[i/output.Shape[1]])
		sum += d * d / 2
	}
	switch {
	case c.has("a sum in the place of a mean"):
		return sum, nil
	case c.has("a loss that counts its calls"):
		return sum/float64(len(targets)) + 1e-9*c.calls, nil
	case c.has("a loss that is not finite for one sample") && len(targets) == 1:
		return math.NaN(), nil
	}
	return sum / float64(len(targets)), nil
}

func (c *brokenSquares) Backward(g tensor.Tensor) error {
	n := float32(len(c.targets))
	if c.has("a sum in the place of a mean") {
		n = 1
	}
	for i, v := range c.output.Data {
		g.Data[i] = (v - float32(c.targets[i/c.output.Shape[1]])) / n
	}
	if c.has("a gradient of half its length") {
		g.Data[0] /= 2
	}
	if c.has("an output that is overwritten") {
		c.output.Data[0] = 0
	}
	return nil
}

// adding adds gradients.
type adding struct{ sound }

func (a *adding) Combine(sum []float32, others [][]float32) {
	for _, other := range others {
		for i, v := range other {
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

// collecting answers all trainers with the sum at the last arrival.
type collecting struct {
	sound
	mu       sync.Mutex
	trainers int
	pending  map[[2]int64][]sdk.Push
	before   float32
	arrived  chan struct{}
}

func (c *collecting) Receive(p sdk.Push) error {
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
	// Of sparse gradients each trainer has its own back.
	for i, v := range pushes[0].Gradient.Values {
		for _, other := range pushes[1:] {
			if !p.Gradient.Sparse() {
				v += other.Gradient.Values[i]
			}
		}
		pushes[0].Gradient.Values[i] = v
	}
	if c.has("something is kept over a reset") && !p.Gradient.Sparse() {
		c.before++
		pushes[0].Gradient.Values[0] += c.before
	}
	for i, push := range pushes {
		if c.has("each trainer has another answer") && i > 0 && !p.Gradient.Sparse() {
			pushes[0].Gradient.Values[0]++
		}
		if err := push.Answer(pushes[0].Gradient); err != nil {
			return err
		}
		if c.has("two answers") {
			if err := push.Answer(pushes[0].Gradient); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *collecting) Reset() {}

// around is a hook that pushes to the server, or leaves a gradient as it is.
type around struct {
	sound
	to       comm.Group
	residual float32
}

func (h *around) Reduce(state sdk.HookState, b *tensor.Bucket) *comm.Future {
	switch {
	case h.has("no future"):
		return nil
	case h.has("a future that never is done"):
		p := comm.NewPromise(nil)
		p.Begin()
		return p.Future()
	case h.has("a gradient without rows"):
		if b.Sparse && b.Gradient.Rows[0] == 99 {
			return comm.Completed(errors.New("99"))
		}
	case h.has("an error that is fed back over a reset"):
		if len(b.Gradient.Values) > 0 {
			b.Gradient.Values[0] += h.residual
		}
		h.residual += 0.5
	case h.has("a bucket that is written late") && b.Index == 0:
		f := h.to.Average(state.Batch(), b)
		f.Observe(late{b}, 0, 0, 0)
		return f
	case h.has("each rank keeps its own"):
		return comm.Completed(nil)
	case h.has("a goroutine that stays"):
		go func() { select {} }()
	}
	return h.to.Average(state.Batch(), b)
}

func (h *around) Reset() {}

// Answer implements sdk.Answerer.
func (h *around) Answer(x *sdk.Exchange, answer *tensor.Gradient) error {
	if h.has("an answer that it does not say") {
		return x.Sum(answer)
	}
	if h.fault != "" {
		return sdk.ErrNoAnswer // another point catches it
	}
	return x.Average(answer)
}

// late writes to a bucket once it is reduced.
type late struct{ b *tensor.Bucket }

func (l late) Observe(int64, int64, int64, int64) {
	time.AfterFunc(5*time.Millisecond, func() { l.b.Gradient.Values[0]++ })
}

// brokenMatrix is a row of three numbers times a matrix.
type brokenMatrix struct {
	sound
	weight tensor.Tensor
	g      *tensor.Gradient
	batch  *sdk.Batch
	calls  float32
}

func (*brokenMatrix) Parameters() []sdk.ParameterSpec {
	return []sdk.ParameterSpec{{Name: "weight", Shape: []int{3, 2}}}
}
func (*brokenMatrix) Inputs() sdk.InputSpec { return sdk.InputSpec{Features: 3, Classes: 2} }
func (m *brokenMatrix) Bind(v []tensor.Tensor, g []*tensor.Gradient) error {
	m.weight, m.g = v[0], g[0]
	return nil
}

func (m *brokenMatrix) Initialize(seed uint64) {
	for i := range m.weight.Data {
		if m.weight.Data[i] = number(int(seed) + i); m.has("initial values by chance") {
			m.weight.Data[i] = rand.Float32()
		}
	}
	if m.has("a value that is not initialized") {
		m.weight.Data[5] = float32(math.NaN())
	}
}

func (m *brokenMatrix) Forward(b *sdk.Batch) (tensor.Tensor, error) {
	m.batch = b
	if m.has("an odd batch is refused") && b.Size() > 1 && b.Size()%2 == 1 {
		return tensor.Tensor{}, errors.New("batches must be even")
	}
	out := tensor.New(b.Size(), 2)
	for i := range out.Data {
		for k, x := range b.Features[i/2*3 : i/2*3+3] {
			out.Data[i] += x * m.weight.Data[2*k+i%2]
		}
	}
	if m.calls++; m.has("something is kept over Initialize") {
		out.Data[0] += m.calls
	}
	return out, nil
}

func (m *brokenMatrix) Backward(up tensor.Tensor, emit func(int)) error {
	if !m.has("gradients that add up") {
		clear(m.g.Values)
	}
	for i, u := range up.Data {
		for k, x := range m.batch.Features[i/2*3 : i/2*3+3] {
			m.g.Values[2*k+i%2] += u * x
		}
	}
	switch {
	case m.has("a value behind the end of a gradient"):
		*(*float32)(unsafe.Add(unsafe.Pointer(&m.g.Values[0]), 4*len(m.g.Values))) = 1
	case m.has("a gradient that is too long"):
		m.g.Values[0] *= 2
	case m.has("a batch that is written"):
		m.batch.Features[0] = 0
	case m.has("a gradient that is emitted twice"):
		emit(0)
	case m.has("a gradient that is not emitted"):
		return nil
	}
	emit(0)
	return nil
}

// rows is a table of zeros that keeps what it is taught.
type rows struct {
	sound
	values []float32
}

func (*rows) Table() comm.TableSpec { return comm.TableSpec{Rows: 5, Width: 2} }
func (t *rows) Lookup(call *comm.TableCall) error {
	for i := range call.Bags() {
		out := call.Columns(i)
		clear(out)
		for _, row := range call.Bag(i) {
			out[0] += t.values[2*row]
			out[1] += t.values[2*row+1]
		}
		if t.has("columns of another table") {
			call.Values[i*call.Stride+call.Width] = 0
		}
	}
	return nil
}

func (t *rows) Update(call *comm.TableCall) error {
	for i := range call.Bags() {
		for _, row := range call.Bag(i) {
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
		t.values = make([]float32, 10)
	}
}

// pair is data of two samples.
type pair struct{ sound }

var loads int64 // of all data in this test

func (d *pair) Load() (*sdk.Samples, error) {
	var b sdk.Batch
	b.Append([]int64{1}, 0)
	b.Append([]int64{2}, 1)
	switch loads++; {
	case d.has("other samples each time"):
		b.Indices[0] = loads
	case d.has("a target that is missing"):
		b.Targets = b.Targets[:1]
	case d.has("an index below 0"):
		b.Indices[1] = -1
	}
	return &sdk.Samples{Batch: b}, nil
}

// tape is pair, streamed.
type tape struct{ pair }

func (d *tape) Open() (sdk.SampleReader, error) { return &tapeReader{tape: d}, nil }

type tapeReader struct {
	tape *tape
	at   int
}

func (r *tapeReader) Read(b *sdk.Batch, n int) error {
	if n = min(n, 5-r.at); n == 0 {
		return io.EOF
	}
	*b = sdk.Batch{}
	for range n {
		b.Append([]int64{int64(r.at)}, int64(r.at))
		r.at++
	}
	return nil
}

func (r *tapeReader) Skip(n int) error {
	if !r.tape.has("Skip does nothing") {
		r.at = min(5, r.at+n)
	}
	return nil
}
func (*tapeReader) Origin(int, int) string { return "a tape" }
func (*tapeReader) Close() error           { return nil }

// stepping trains with a step against the gradient.
type stepping struct {
	sound
	env   sdk.TrainerEnv
	parts sdk.TrainerParts
	reset bool
}

func (t *stepping) Plan(p []sdk.ParameterSpec) ([]tensor.BucketSpec, error) {
	plan := dataparallel.DefaultBuckets.PlanBuckets(p)
	if t.has("a plan of each rank's own") && t.env.Rank > 0 {
		plan[0].Parameters[0].Elements--
	}
	return plan, nil
}

func (t *stepping) Attach(parts sdk.TrainerParts) error { t.parts = parts; return nil }

func (t *stepping) Reset() error {
	if !t.reset || !t.has("parameters that are not reset") {
		t.parts.Model.Initialize(t.env.Seed)
	}
	t.reset = true
	return nil
}

func (t *stepping) Train(ctx context.Context, report sdk.PassReport) error {
	batch := int64(0)
	for epoch := range t.env.Epochs {
		if t.has("a context that is not looked at") {
			ctx = context.Background()
		}
		err := dataparallel.RunEpoch(ctx, t.env.Name, epoch, t.parts, report, func(_ sdk.Key, b *sdk.Batch) (float64, error) {
			batch++
			return t.step(batch, b)
		})
		if err != nil || t.has("one epoch of two") {
			return err
		}
	}
	return nil
}

func (t *stepping) step(batch int64, b *sdk.Batch) (float64, error) {
	out, err := t.parts.Model.Forward(b)
	if err != nil {
		return 0, err
	}
	loss, err := t.parts.Criterion.Forward(out, b.Targets)
	if err != nil {
		return 0, err
	}
	up := tensor.New(out.Shape...)
	if err := t.parts.Criterion.Backward(up); err != nil {
		return 0, err
	}
	if err := t.parts.Model.Backward(up, func(int) {}); err != nil {
		return 0, err
	}
	if !t.has("gradients that are not reduced") {
		if err := t.parts.Hook.Reduce(batchState(batch), t.parts.Buckets[0]).Wait(); err != nil {
			return 0, err
		}
	}
	for k, v := range t.parts.Values {
		for i, d := range t.parts.Gradients[k].Values {
			v.Data[i] -= d / 8
		}
	}
	return loss, nil
}
