package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/plugins"
	"github.com/psbench/psbench/sdk"
)

// closing controls what a part of the test plugin does in Close. Each part appends its kind to a file of its process.
// Otherwise the parts are psbench's own.
type closing struct {
	Notes   string `json:"notes" doc:"folder of the files"`
	End     string `json:"end" doc:"how Close ends: well, in an error, in a hang or in a panic"`
	Barrier bool   `json:"barrier" doc:"a hook waits in Close for those of all trainers"`
	Breaks  bool   `json:"breaks" doc:"the first trainer's hook fails in batch 5"`

	kind sdk.Kind
}

func (c closing) as(kind sdk.Kind) closing { c.kind = kind; return c }

func (c closing) Close() error {
	file, err := os.OpenFile(filepath.Join(c.Notes, fmt.Sprint(os.Getpid())), os.O_APPEND|os.O_CREATE|os.O_WRONLY,
		0o600)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	if _, err := fmt.Fprintln(file, c.kind); err != nil {
		return err
	}
	switch c.End {
	case "in an error":
		return errors.New("the disk is full")
	case "in a hang":
		select {}
	case "in a panic":
		panic("it fell over")
	}
	return nil
}

// builtinPart builds one of psbench's own parts from settings.
func builtinPart[P any](kind sdk.Kind, key, settings string, env any) (P, error) {
	i := slices.IndexFunc(plugins.Parts(), func(p sdk.Part) bool { return p.Kind == kind && p.Key == key })
	part, err := plugins.Parts()[i].Build([]byte(settings), env)
	if err != nil {
		var none P
		return none, err
	}
	return part.(P), nil
}

// closingParts returns one part of each kind that has Close, and of each type of server and data.
func closingParts() []sdk.Part {
	return []sdk.Part{
		sdk.NewTrainer("closing", closing{}, func(c closing, env sdk.TrainerEnv) (sdk.Trainer, error) {
			env.Maps = map[sdk.Kind]string{
				sdk.KindDDPModel: "basic", sdk.KindHookState: "basic", sdk.KindIterationStep: "basic",
				sdk.KindPreprocessData: "dummy",
			}
			t, err := builtinPart[sdk.Trainer](sdk.KindTrainer, "ddp", "{}", env)
			return struct {
				sdk.Trainer
				closing
			}{t, c.as(sdk.KindTrainer)}, err
		}),
		sdk.NewModel("closing", closing{}, func(c closing, env sdk.ModelEnv) (sdk.Model, error) {
			m, err := builtinPart[sdk.Model](sdk.KindModel, "dummy",
				`{"num_embeddings": 100, "embedding_dim": 100, "dense_input_size": 100, "dense_output_size": 100}`, env)
			return struct {
				sdk.Model
				closing
			}{m, c.as(sdk.KindModel)}, err
		}),
		sdk.NewCriterion("closing", closing{}, func(c closing, env sdk.CriterionEnv) (sdk.Criterion, error) {
			l, err := builtinPart[sdk.Criterion](sdk.KindCriterion, "cel", "{}", env)
			return struct {
				sdk.Criterion
				closing
			}{l, c.as(sdk.KindCriterion)}, err
		}),
		sdk.NewHook("closing", closing{}, newClosingHook, sdk.LinkServer, sdk.LinkGroup),
		sdk.NewElementwiseServer("closing", sdk.OnArrival, closing{},
			func(c closing, env sdk.ServerEnv) (sdk.ElementwiseServer, error) {
				s, err := builtinPart[sdk.ElementwiseServer](sdk.KindServer, "average", "{}", env)
				return struct {
					sdk.ElementwiseServer
					closing
				}{s, c.as(sdk.KindServer)}, err
			}),
		sdk.Asynchronous(sdk.NewServer("closing_echo", closing{}, func(c closing, _ sdk.ServerEnv) (sdk.Server, error) {
			return &closingEcho{c.as(sdk.KindServer)}, nil
		})),
		sdk.NewParameterServer("closing_update", closing{}, func(c closing, env sdk.ServerEnv) (sdk.Server, error) {
			s, err := builtinPart[sdk.Server](sdk.KindServer, "batch_update", "{}", env)
			return struct {
				sdk.Server
				closing
			}{s, c.as(sdk.KindServer)}, err
		}),
		sdk.NewTableServer("closing_table", closing{}, func(c closing, env sdk.TableEnv) (sdk.TableServer, error) {
			s, err := builtinPart[sdk.TableServer](sdk.KindServer, "embedding", `{"embedding_dim": 256}`, env)
			return struct {
				sdk.TableServer
				closing
			}{s, c.as(sdk.KindServer)}, err
		}),
		sdk.NewData("closing", closing{}, func(c closing, env sdk.DataEnv) (sdk.Data, error) {
			d, err := builtinPart[sdk.Data](sdk.KindData, "dummy", "{}", env)
			return struct {
				sdk.Data
				closing
			}{d, c.as(sdk.KindData)}, err
		}),
		sdk.NewData("closing_stream", closing{}, func(c closing, env sdk.DataEnv) (sdk.Data, error) {
			d, err := builtinPart[sdk.StreamedData](sdk.KindData, "criteo", "{}", env)
			return &closingStream{StreamedData: d, closing: c.as(sdk.KindData)}, err
		}),
	}
}

// closingHook pushes every bucket to the server.
type closingHook struct {
	sdk.Hook
	closing
	group comm.Group
	rank  int
}

func newClosingHook(c closing, env sdk.HookEnv) (sdk.Hook, error) {
	h, err := builtinPart[sdk.Hook](sdk.KindHook, "rpc", "{}", env)
	return &closingHook{h, c.as(sdk.KindHook), env.Group, env.Rank}, err
}

func (h *closingHook) Reduce(state sdk.HookState, b *tensor.Bucket) *comm.Future {
	if h.Breaks && h.rank == 0 && state.Batch() == 5 {
		return comm.Completed(errors.New("it broke"))
	}
	return h.Hook.Reduce(state, b)
}

// Close waits for the hooks of all trainers if Barrier is set. The hook's links must still work then.
func (h *closingHook) Close() error {
	if h.Barrier {
		if err := h.group.Barrier(); err != nil {
			return err
		}
	}
	return h.closing.Close()
}

// closingEcho answers each gradient with itself.
type closingEcho struct{ closing }

func (s *closingEcho) Receive(p sdk.Push) error { return p.Answer(p.Gradient) }
func (s *closingEcho) Reset()                   {}

// closingStream returns an error from Close if a reader is still open.
type closingStream struct {
	sdk.StreamedData
	closing
	open atomic.Int32
}

// Fit implements sdk.FittedData.
func (s *closingStream) Fit(in sdk.InputSpec) { s.StreamedData.(sdk.FittedData).Fit(in) }

func (s *closingStream) Open() (sdk.SampleReader, error) {
	r, err := s.StreamedData.Open()
	s.open.Add(1)
	return &closingReader{r, s}, err
}

type closingReader struct {
	sdk.SampleReader
	of *closingStream
}

func (r *closingReader) Close() error {
	r.of.open.Add(-1)
	return r.SampleReader.Close()
}

func (s *closingStream) Close() error {
	if n := s.open.Load(); n != 0 {
		return fmt.Errorf("%d readers are open", n)
	}
	return s.closing.Close()
}
