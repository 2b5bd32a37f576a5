package servers

import (
	"testing"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
	"github.com/psbench/psbench/sdk/engine/enginetest"
)

// onWay is an engine that counts the copies from host memory whose previous copy was not awaited.
type onWay struct {
	engine.Averager
	copies  map[*byte]engine.Ticket
	written int
}

func (e *onWay) CopyIn(memory, host []byte) engine.Ticket {
	if _, there := e.copies[&host[0]]; there {
		e.written++
	}
	t := e.Averager.CopyIn(memory, host)
	e.copies[&host[0]] = t
	return t
}

func (e *onWay) Wait(t engine.Ticket) error {
	for host, of := range e.copies {
		if of.Number <= t.Number {
			delete(e.copies, host)
		}
	}
	return e.Averager.Wait(t)
}

// The server does not overwrite staging memory before its copy has finished. After a failed pass, no mean has
// waited for the copies.
func TestReportsWaitForCopies(t *testing.T) {
	dark := enginetest.New(enginetest.Full)
	e := &onWay{Averager: dark, copies: map[*byte]engine.Ticket{}}
	specs := []tensor.BucketSpec{{Index: 0, Elements: 5}, {Index: 1, Elements: 3}}
	m, err := newEngineMeans(e, specs, 2, &sdk.Counter{})
	if err != nil {
		t.Fatal(err)
	}
	report := make([]sdk.Push, len(specs))
	for i, spec := range specs {
		report[i].Gradient = &tensor.Gradient{Values: make([]float32, spec.Elements)}
	}
	for range 3 {
		if err := m.take(1, report, true); err != nil {
			t.Fatal(err)
		}
	}
	if e.written > 0 {
		t.Errorf("%d times host memory is written while a copy of it is on its way", e.written)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if err := dark.Close(); err != nil {
		t.Error(err)
	}
}
