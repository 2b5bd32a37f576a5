package conduct

import (
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/psbench/psbench/core/process/monitor"
)

// beats is the pipe over which one run reports its progress.
type beats struct {
	from, to *os.File // nil without Options.Heartbeat
	heard    chan struct{}
}

// listen makes a process report its progress, if Options.Heartbeat is set. Call it before the process starts.
func (s *session) listen(cmd *exec.Cmd) (*beats, error) {
	b := &beats{heard: make(chan struct{})}
	if s.options.Heartbeat == nil {
		close(b.heard)
		return b, nil
	}
	var err error
	if b.from, b.to, err = os.Pipe(); err != nil {
		return nil, err
	}
	cmd.Env, cmd.ExtraFiles = append(slices.Clone(cmd.Env), monitor.BeatVariable()), []*os.File{b.to}
	go func() {
		defer close(b.heard)
		monitor.ReadBeats(b.from, s.options.Heartbeat)
	}()
	return b, nil
}

// started closes this process's copy of the write end.
func (b *beats) started() {
	if b.to != nil {
		_ = b.to.Close()
	}
}

// lastBeat is how long a beat may take to arrive after the process has ended. Without this limit, a child of the
// process that still has the pipe open would keep close waiting; runs of an older psbench leave such children.
const lastBeat = 100 * time.Millisecond

// close waits until all beats have been read and closes the pipe.
func (b *beats) close() {
	if b.from == nil {
		return
	}
	_ = b.from.SetReadDeadline(time.Now().Add(lastBeat))
	<-b.heard
	_ = b.from.Close()
}
