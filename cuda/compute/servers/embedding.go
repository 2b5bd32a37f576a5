//go:build nvidia

package servers

import (
	"fmt"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/cuda/compute/bags"
	"github.com/psbench/psbench/cuda/compute/device"
	"github.com/psbench/psbench/plugins/servers"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
	"github.com/psbench/psbench/sdk/optimizer"
)

// embedding implements the server embedding of plugins/servers. embedding looks up bags of rows in a table, and an
// optimizer steps the rows by the gradients of the bags. A call of n indices copies its bags' columns between host
// and device and moves 4 n width bytes on the device.
type embedding struct {
	dev      *device.Device
	settings servers.EmbeddingSettings
	env      sdk.TableEnv
	bags     *bags.Bags
	columns  *device.Transfer[float32] // columns of a call's bags
	looked   []float32                 // result of a lookup, on the device

	values    []tensor.Tensor // the table; no data until the first Reset
	optimizer optimizer.Optimizer
	gradient  tensor.Gradient // gradient of an update, with its rows
	storage   []float32       // values of gradient
	failed    error           // error of Reset
}

var _ sdk.Holder = (*embedding)(nil)

// NewEmbedding builds the server from the settings of plugins/servers.
func NewEmbedding(s servers.EmbeddingSettings, env sdk.TableEnv) (sdk.TableServer, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	d, err := device.Of(env.Engine)
	if err != nil {
		return nil, err
	}
	e := &embedding{
		dev: d, settings: s, env: env,
		values:   []tensor.Tensor{{Shape: []int{s.NumEmbeddings, s.EmbeddingDim}}},
		gradient: tensor.Gradient{Width: s.EmbeddingDim},
	}
	d.Measure(env.Recorder)
	if e.bags, err = bags.New(d, d.Compute()); err != nil {
		return nil, err
	}
	if e.columns, err = device.NewTransfer[float32](d, d.Compute()); err != nil {
		return nil, err
	}
	if e.optimizer, err = optimizer.New(d, s.Settings, e.values, []*tensor.Gradient{&e.gradient}); err != nil {
		return nil, fmt.Errorf("setting %w", err)
	}
	return e, nil
}

// Table implements sdk.TableServer.
func (e *embedding) Table() comm.TableSpec {
	return comm.TableSpec{Rows: e.settings.NumEmbeddings, Width: e.settings.EmbeddingDim}
}

// Lookup implements sdk.TableServer.
func (e *embedding) Lookup(call *comm.TableCall) (err error) {
	switch {
	case e.failed != nil:
		return e.failed
	case e.values[0].Data == nil:
		return fmt.Errorf("%s was asked before its table had values", e.env.Name)
	case call.Bags() < 1:
		return nil
	}
	width, q := e.settings.EmbeddingDim, e.dev.Compute().Queue
	if err := e.dev.Read(false); err != nil {
		return err
	}
	if err := e.bags.Send(call.Indices, call.Offsets); err != nil {
		return err
	}
	if e.looked, err = engine.Grow(e.dev, e.looked, call.Bags()*width); err != nil {
		return err
	}
	e.dev.Begin(device.Lookup)
	q.GatherBags(e.looked, e.values[0].Data, width, e.bags.Indices, e.bags.Offsets, false)
	e.dev.End(device.Lookup)
	if err := q.Err(); err != nil {
		return err
	}
	found, err := e.columns.Fetch(e.looked)
	if err != nil {
		return err
	}
	for i := range call.Bags() {
		copy(call.Columns(i), found[i*width:(i+1)*width])
	}
	return nil
}

// Update implements sdk.TableServer.
func (e *embedding) Update(call *comm.TableCall) error {
	if e.values[0].Data == nil {
		return fmt.Errorf("%s was sent an update before its table had values", e.env.Name)
	}
	g, width := &e.gradient, e.settings.EmbeddingDim
	e.dev.BeginUpdate()
	rows, err := e.sum(call, width)
	if err != nil {
		return err
	}
	g.Rows = rows
	return e.optimizer.Step()
}

// sum adds up, for each row, the gradients of the bags that contain it. sum returns the rows.
func (e *embedding) sum(call *comm.TableCall, width int) ([]int32, error) {
	q := e.dev.Compute().Queue
	room, err := e.columns.Room(call.Bags() * width)
	if err != nil {
		return nil, err
	}
	for i := range call.Bags() {
		copy(room[i*width:], call.Columns(i))
	}
	gradients, err := e.columns.Send(len(room))
	if err != nil {
		return nil, err
	}
	rows, runs, err := e.bags.Sort(call.Indices, call.Offsets)
	if err != nil {
		return nil, err
	}
	if e.storage, err = engine.Grow(e.dev, e.storage, len(rows)*width); err != nil {
		return nil, err
	}
	e.gradient.Values = e.storage
	if err := e.bags.Send(nil, call.Offsets); err != nil {
		return nil, err
	}
	e.dev.Begin(device.Scatter)
	q.ScatterBags(e.storage, gradients, width, runs, e.bags.Offsets, false, false)
	e.dev.End(device.Scatter)
	return rows, q.Err()
}

// Reset implements sdk.TableServer. The first call allocates the table: only then is it known that all servers'
// tables fit into memory.
func (e *embedding) Reset() { e.failed = e.reset() }

func (e *embedding) reset() (err error) {
	if err := e.dev.BeginPass(); err != nil {
		return err
	}
	n := e.settings.NumEmbeddings * e.settings.EmbeddingDim
	if e.values[0].Data == nil {
		if e.values[0].Data, err = engine.Floats(e.dev, n); err != nil {
			return err
		}
	}
	table := make([]float32, n)
	e.settings.Draw(e.env.Seed, e.env.Position, table)
	if err := engine.In(e.dev, e.values[0].Data, table); err != nil {
		return err
	}
	return e.optimizer.Reset()
}

// PassFacts implements sdk.PassDescriber. PassFacts returns no facts. The host calls it at the end of a pass, so it
// waits for the last update and records the last measurements. PassFacts ignores errors of the device, because the
// pass has already reported them.
func (e *embedding) PassFacts() map[string]string {
	if e.dev.Compute().Stream.Synchronize() == nil {
		_ = e.dev.EndPass()
	}
	return nil
}

// Held implements sdk.Holder.
func (e *embedding) Held() ([]sdk.ParameterSpec, []tensor.Tensor) {
	return []sdk.ParameterSpec{{Name: "embedding", Shape: e.values[0].Shape}}, e.values
}
