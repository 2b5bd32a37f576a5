package process_test

import (
	"testing"

	"github.com/psbench/psbench/internal/host/hosttest"
	"github.com/psbench/psbench/sdk/engine"
	"github.com/psbench/psbench/sdk/engine/enginetest"
)

func TestCopiesThatDoNotEndAreTold(t *testing.T) {
	p := opening(t, enginetest.Full.Open)
	hosttest.Must(t, p.OpenEngine())
	e, dark := p.WatchedEngine(), p.Engine.(*enginetest.Dark)
	memory, err := engine.Floats(e, 2)
	hosttest.Must(t, err)
	host := make([]float32, 2)
	hosttest.Must(t, engine.Out(e, host, memory))
	if n := testing.AllocsPerRun(100, func() { _ = e.Wait(engine.Ticket{}) }); n != 0 {
		t.Errorf("a wait allocates %g times", n)
	}
	dark.Hold(true)
	ended := make(chan error, 1)
	go func() { ended <- engine.Out(e, host, memory) }()
	const want = "trainer1: engine dark has not ended a copy after 0.02 s, so its Wait does not return: look at the device, or raise --rpc-timeout if its work takes that long"
	if err := hosttest.Failure(t, p); err.Error() != want {
		t.Errorf("it tells %v, want %s", err, want)
	}
	dark.Hold(false)
	hosttest.Must(t, <-ended)
	if p := opening(t, nil); p.WatchedEngine() != engine.Host {
		t.Error("ordinary memory is watched")
	}
}
