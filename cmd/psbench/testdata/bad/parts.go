package main

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/dataparallel"
)

// when is the batch in which parts do harm.
const when = 7

type none = struct{}

func parts() []sdk.Part {
	var all []sdk.Part
	for _, does := range []string{"floods", "grows", "leaves", "leaks", "serves", "rows"} {
		all = append(all,
			sdk.NewData(does, none{}, func(none, sdk.DataEnv) (sdk.Data, error) { return data{does}, nil }))
	}
	for _, does := range []string{"made", "panics", "closed", "twice", "reset", "kept", "forged", "empty", "rows",
		"never", "stays", "serves"} {
		all = append(all,
			sdk.Asynchronous(sdk.NewServer(does, none{}, func(none, sdk.ServerEnv) (sdk.Server, error) {
				return newServer(does)
			})))
	}
	for _, does := range []string{"shape", "rows"} {
		all = append(all,
			sdk.NewModel(does, none{}, func(none, sdk.ModelEnv) (sdk.Model, error) { return &model{does: does}, nil }))
	}
	return append(all,
		sdk.NewServer("early", none{}, func(none, sdk.ServerEnv) (sdk.Server, error) { return newServer("early") }),
		sdk.NewServer("hangs", none{}, func(none, sdk.ServerEnv) (sdk.Server, error) { select {} }),
		sdk.NewHook("forgets", none{}, func(_ none, env sdk.HookEnv) (sdk.Hook, error) {
			return forgets{env.Group}, nil
		}, sdk.LinkGroup),
		sdk.NewTrainer("deaf", none{}, func(none, sdk.TrainerEnv) (sdk.Trainer, error) { return &deaf{}, nil }),
		sdk.NewTrainer("stuck", none{}, func(none, sdk.TrainerEnv) (sdk.Trainer, error) { return &stuck{}, nil }),
	)
}

// forgets is a hook that returns another future than that of its operation.
type forgets struct{ group comm.Group }

func (h forgets) Reduce(s sdk.HookState, b *tensor.Bucket) *comm.Future {
	h.group.Average(s.Batch(), b)
	return comm.Completed(nil)
}
func (forgets) Reset() {}

// data does harm while it loads four samples.
type data struct{ does string }

func (d data) Load() (*sdk.Samples, error) {
	s := &sdk.Samples{Batch: sdk.Batch{Indices: []int64{0, 1, 2, 3}, Offsets: []int64{0, 1, 2, 3, 4},
		Targets: []int64{3, 2, 1, 0}}, Batches: []int{2, 2}}
	switch d.does {
	case "floods":
		go flood(os.Stdout)
		go flood(os.Stderr)
	case "grows":
		grow()
	case "leaves":
		return s, leave()
	case "leaks":
		for range 10_000 {
			go func() { time.Sleep(time.Hour) }()
		}
	case "serves":
		httptest.NewServer(nil)
	case "rows":
		s.Indices[2] = 1 << 40
	}
	return s, nil
}

func flood(to *os.File) {
	for {
		_, _ = fmt.Fprintln(to, strings.Repeat("x", 100))
	}
}

// server answers each push at once, but for what it does in a batch.
type server struct {
	does string
	mu   sync.Mutex
	kept sdk.Push
}

func newServer(does string) (sdk.Server, error) {
	if does == "made" {
		panic("no more")
	}
	return &server{does: does}, nil
}

func (s *server) Receive(p sdk.Push) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.Batch < when || p.Bucket > 0 || p.Trainer > 0 {
		return p.Answer(p.Gradient)
	}
	switch s.does {
	case "panics":
		fmt.Println("batch", p.Batch)
		panic("no more")
	case "never":
		fmt.Println("batch", p.Batch)
		return nil
	case "stays":
		fmt.Println("batch", p.Batch)
		select {}
	case "serves":
		httptest.NewServer(nil)
		return p.Answer(p.Gradient)
	case "empty":
		return p.Answer(&tensor.Gradient{})
	case "rows":
		g := *p.Gradient
		g.Width, g.Rows = 1, make([]int32, len(g.Values)+1)
		return p.Answer(&g)
	case "forged":
		p.Number++
		return p.Answer(p.Gradient)
	case "twice":
		_ = p.Answer(p.Gradient)
		_ = p.Answer(p.Gradient)
		return nil
	}
	if s.kept.Gradient != nil && s.kept.Batch < p.Batch && s.does == "kept" {
		_ = s.kept.Answer(p.Gradient)
		return nil
	}
	s.kept = p
	return p.Answer(p.Gradient)
}

func (s *server) Reset() {
	if s.does == "reset" && s.kept.Gradient != nil {
		_ = s.kept.Answer(s.kept.Gradient)
	}
}

func (s *server) Close() error {
	if s.does == "closed" {
		panic("no more")
	}
	return nil
}

// model has a table of one column, and outputs or gradients that are wrong.
type model struct {
	does     string
	gradient *tensor.Gradient
}

const rows, classes = 100, 100

func (*model) Parameters() []sdk.ParameterSpec {
	return []sdk.ParameterSpec{{Name: "table", Shape: []int{rows, 1}, Sparse: true}}
}

func (*model) Inputs() sdk.InputSpec { return sdk.InputSpec{Rows: rows, Classes: classes} }

func (m *model) Bind(_ []tensor.Tensor, gradients []*tensor.Gradient) error {
	m.gradient = gradients[0]
	return nil
}

func (*model) Initialize(uint64) {}

func (m *model) Forward(b *sdk.Batch) (tensor.Tensor, error) {
	if m.does == "shape" {
		return tensor.New(b.Size()+1, classes), nil
	}
	return tensor.New(b.Size(), classes), nil
}

func (m *model) Backward(_ tensor.Tensor, emit func(int)) error {
	err := m.gradient.SetRows(1)
	m.gradient.Rows[0] = rows
	emit(0)
	return err
}

// deaf is a trainer that does not listen to the end of its pass.
type deaf struct{ parts sdk.TrainerParts }

func (*deaf) Plan(parameters []sdk.ParameterSpec) ([]tensor.BucketSpec, error) {
	return dataparallel.DefaultBuckets.PlanBuckets(parameters), nil
}

func (d *deaf) Attach(parts sdk.TrainerParts) error {
	d.parts = parts
	return nil
}

func (*deaf) Reset() error { return nil }

func (d *deaf) Train(_ context.Context, report sdk.PassReport) error {
	fmt.Println("training")
	for {
		report.Loss(1)
		time.Sleep(time.Millisecond)
	}
}

// stuck is a trainer that does not come to the end of an iteration, nor to that of its pass.
type stuck struct{ deaf }

func (*stuck) Train(context.Context, sdk.PassReport) error {
	fmt.Println("training")
	select {}
}
