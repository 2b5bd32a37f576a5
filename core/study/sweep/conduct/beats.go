package conduct

import (
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/psbench/psbench/core/process/monitor"
)

// beats is the pipe on which one run reports its progress.
type beats struct {
	from, to *os.File // nil without Options.Heartbeat
	heard    chan struct{}
}

// listen sets up cmd to report its progress if Options.Heartbeat is set. Call listen before cmd starts.
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

// started closes this process's copy of the pipe's write end.
func (b *beats) started() {
	if b.to != nil {
		_ = b.to.Close()
	}
}

// lastBeat is how long close waits for a beat after the process has ended. Without this limit, a child process that
// still has the pipe open would block close. Runs of older psbenches leave such children.
const lastBeat = 100 * time.Millisecond

// close waits until all beats have been read, but at most for lastBeat, and closes the pipe.
func (b *beats) close() {
	if b.from == nil {
		return
	}
	_ = b.from.SetReadDeadline(time.Now().Add(lastBeat))
	<-b.heard
	_ = b.from.Close()
}
