package conduct

import (
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/psbench/psbench/core/process/monitor"
)

// beats is the pipe over which one run tells how far it is.
type beats struct {
	from, to *os.File // nil where nobody listens
	heard    chan struct{}
}

// listen has a process that is yet to start tell how far it is, if somebody wants to know.
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

// started leaves the other end to the process.
func (b *beats) started() {
	if b.to != nil {
		_ = b.to.Close()
	}
}

// lastBeat is how long a beat may be on its way once the process has ended. What it started may have
// the pipe open for longer, if it is of an older psbench.
const lastBeat = 100 * time.Millisecond

// close waits until nothing is told any more.
func (b *beats) close() {
	if b.from == nil {
		return
	}
	_ = b.from.SetReadDeadline(time.Now().Add(lastBeat))
	<-b.heard
	_ = b.from.Close()
}
