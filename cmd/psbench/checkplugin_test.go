package main

import (
	"io"
	"os"
	"os/exec"
	"slices"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/plugins"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/plugin"
)

// checkPluginArgument turns the test executable into a plugin for psbench plugin check. It has psbench's own parts
// under other names, most of them broken.
const checkPluginArgument = "__check-plugin"

func serveCheckPlugin() {
	own := func(kind sdk.Kind, key, name string) sdk.Part {
		all := plugins.Parts()
		part := all[slices.IndexFunc(all, func(p sdk.Part) bool { return p.Kind == kind && p.Key == key })]
		part.Key, part.Settings = name, nil // plugin check would run each setting
		return part
	}
	layers := func(name, sizes string) sdk.Part {
		model := own(sdk.KindModel, "mlp", name)
		model.Settings = []sdk.Setting{{Name: "sizes", Type: "list", Default: []byte(sizes)}}
		return model
	}
	if slices.Contains(os.Args, "linked") {
		foreign := own(sdk.KindModel, "dummy", "foreign")
		foreign.Settings = []sdk.Setting{{Name: "num_embeddings", Type: "integer", Default: []byte("1")}}
		plugin.Serve(append(plugins.Builtin(), foreign,
			sdk.NewTrainer("local", localSettings{LR: 0.1}, newLocalSGD))...)
	}
	needy := own(sdk.KindData, "file", "needy")
	needy.Settings = []sdk.Setting{{Name: "path", Type: "string", Default: []byte(`""`)}}
	parts := []sdk.Part{layers("unheld", "[8]"), layers("held", "[8, 4]"), own(sdk.KindCriterion, "cel", "held"), needy}
	parts = append(parts, spoiltParts()...)
	streamed := own(sdk.KindData, "criteo", "streamed")
	parts = append(parts, streamed.Around(func(env any, inner func(any) (any, error)) (any, error) {
		made, err := inner(env)
		if err != nil {
			return nil, err
		}
		return skipless{made.(sdk.StreamedData)}, nil
	}))
	table := own(sdk.KindServer, "embedding", "deaf_table")
	parts = append(parts, table.Around(func(env any, inner func(any) (any, error)) (any, error) {
		made, err := inner(env)
		if err != nil {
			return nil, err
		}
		return deafTable{made.(sdk.TableServer)}, nil
	}))
	parameters := own(sdk.KindServer, "batch_update", "twice")
	parts = append(parts, parameters.Around(func(env any, inner func(any) (any, error)) (any, error) {
		made, err := inner(env)
		if err != nil {
			return nil, err
		}
		return twice{made.(sdk.Server)}, nil
	}))
	parent := own(sdk.KindData, "dummy", "parent")
	parts = append(parts, parent.Around(func(env any, inner func(any) (any, error)) (any, error) {
		made, err := inner(env)
		if err == nil {
			err = exec.Command("sleep", "100").Start()
		}
		return made, err
	}))
	data := own(sdk.KindData, "dummy", "counting")
	parts = append(parts, data.Around(func(env any, inner func(any) (any, error)) (any, error) {
		e := env.(sdk.DataEnv)
		e.Seed += uint64(os.Getpid())
		return inner(e)
	}))
	careless := own(sdk.KindData, "dummy", "careless")
	parts = append(parts, careless.Around(func(env any, inner func(any) (any, error)) (any, error) {
		if made, err := inner(env); err == nil {
			return made, nil
		}
		return actor{}, nil
	}))
	trainer := own(sdk.KindTrainer, "hybrid", "restless")
	parts = append(parts, trainer.Around(func(env any, inner func(any) (any, error)) (any, error) {
		e := env.(sdk.TrainerEnv)
		e.Seed += uint64(os.Getpid())
		return inner(e)
	}))
	hurried := own(sdk.KindTrainer, "batch_update", "hurried")
	parts = append(parts, hurried.Around(func(env any, inner func(any) (any, error)) (any, error) {
		made, err := inner(env)
		if err != nil {
			return nil, err
		}
		return inHurry{made.(sdk.Trainer)}, nil
	}))
	mortal := own(sdk.KindCriterion, "cel", "mortal")
	mortal.Targets = sdk.ClassTargets
	parts = append(parts, mortal.Around(func(env any, inner func(any) (any, error)) (any, error) {
		made, err := inner(env)
		if err != nil {
			return nil, err
		}
		return &tiring{Criterion: made.(sdk.Criterion)}, nil
	}))
	plugin.Serve(parts...)
}

// tiring ends its process during a training, which calls Forward more often than any other check.
type tiring struct {
	sdk.Criterion
	calls int
}

func (c *tiring) Forward(output tensor.Tensor, targets []int64) (float64, error) {
	if c.calls++; c.calls > 90 {
		panic("it is tired")
	}
	return c.Criterion.Forward(output, targets)
}

// inHurry computes the gradient of the loss twice.
type inHurry struct{ sdk.Trainer }

func (t inHurry) Attach(parts sdk.TrainerParts) error {
	parts.Criterion = asksTwice{parts.Criterion}
	return t.Trainer.Attach(parts)
}

type asksTwice struct{ sdk.Criterion }

func (c asksTwice) Backward(g tensor.Tensor) error {
	if err := c.Criterion.Backward(g); err != nil {
		return err
	}
	return c.Criterion.Backward(g)
}

// deafTable ignores all gradients.
type deafTable struct{ sdk.TableServer }

func (deafTable) Update(*comm.TableCall) error { return nil }

// twice answers each trainer's first push twice.
type twice struct{ sdk.Server }

func (s twice) Receive(p sdk.Push) error {
	if err := s.Server.Receive(p); err != nil || p.Batch > 0 {
		return err
	}
	return p.Answer(p.Gradient)
}

// skipless is a data set of one or two batches. The Skip method of its readers does nothing.
type skipless struct{ sdk.StreamedData }

func (d skipless) Fit(in sdk.InputSpec) { d.StreamedData.(sdk.FittedData).Fit(in) }

func (d skipless) Open() (sdk.SampleReader, error) {
	r, err := d.StreamedData.Open()
	return &skiplessReader{r, 7}, err
}

type skiplessReader struct {
	sdk.SampleReader
	left int
}

func (*skiplessReader) Skip(int) error { return nil }

func (r *skiplessReader) Read(b *sdk.Batch, n int) error {
	if r.left == 0 {
		return io.EOF
	}
	err := r.SampleReader.Read(b, min(n, r.left))
	r.left -= b.Size()
	return err
}
