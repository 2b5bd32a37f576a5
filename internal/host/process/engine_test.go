package process_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/psbench/psbench/internal/host/hosttest"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
	"github.com/psbench/psbench/sdk/engine/enginetest"
)

// opening makes a process and opens its plugin's engine with open.
func opening(t *testing.T, open engine.Opener) *process.Process {
	t.Helper()
	return hosttest.Process(t, hosttest.Folder(t), nil, process.Config{
		Name: "trainer1", Part: hosttest.Choice(sdk.KindTrainer, "ddp"), Engine: open, Timeout: 20 * time.Millisecond,
	})
}

func TestEngineOfAProcess(t *testing.T) {
	p := opening(t, nil)
	hosttest.Must(t, p.OpenEngine())
	hosttest.Must(t, p.NeedBeside(sdk.KindModel))
	if p.Engine != engine.Host {
		t.Errorf("without an engine of its own a process has %s", p.Engine.Name())
	}
	p = opening(t, enginetest.Full.Open)
	hosttest.Must(t, p.OpenEngine())
	want :=
		"trainer1: trainer ddp computes in the memory of engine dark, which no other process sees, so its model must be in one process with it: choose them of one plugin in Go, and do not isolate them"
	if err := p.NeedBeside(sdk.KindModel); err == nil || err.Error() != want {
		t.Errorf("a model beside it gives %v, want %s", err, want)
	}
}

func TestEngineThatDoesNotOpen(t *testing.T) {
	for want, open := range map[string]engine.Opener{
		"trainer1: the engine of trainer ddp does not open: no device 0": func() (engine.Engine, error) {
			return nil, errors.New("no device 0")
		},
		"trainer1: the engine of trainer ddp does not open: what opens it gave none": func() (engine.Engine, error) {
			return nil, nil
		},
	} {
		t.Run(fmt.Sprintf("%.60s", want), func(t *testing.T) {
			if err := opening(t, open).OpenEngine(); err == nil || err.Error() != want {
				t.Errorf("it gives %v, want %s", err, want)
			}
		})
	}
	late := make(chan struct{})
	p := opening(t, func() (engine.Engine, error) {
		<-late
		return engine.Host, nil
	})
	ended := make(chan error, 1)
	go func() { ended <- p.OpenEngine() }()
	if err := hosttest.Failure(t, p); err.Error() != "trainer1: the engine of trainer ddp is not open after 0.02 s" {
		t.Errorf("one that takes too long tells %v", err)
	}
	close(late)
	hosttest.Must(t, <-ended)
}
