package monitor

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/psbench/psbench/internal/numeral"
)

// Beat is the progress of a run. A psbench that was started by another psbench sends it once a second over an
// inherited pipe; an older psbench ignores the pipe.
type Beat struct {
	Phase string `json:"phase"` // e.g. measured pass
	// Iterations of the first trainer in this pass, and their total; 0 if unknown.
	Iterations int64 `json:"iterations"`
	Of         int64 `json:"of"`
	// Rate is the recent rate in samples per second over all trainers; 0 if unknown.
	Rate float64 `json:"rate"`
	// Loss of the last iteration; nil without one or if it is not finite.
	Loss *float64 `json:"loss"`
	// SecondsLeft is the time to the end of the pass; nil if unknown.
	SecondsLeft *float64 `json:"seconds_left"`
}

// Finite returns a pointer to v, or nil if JSON cannot hold it.
func Finite(v float64) *float64 {
	if !numeral.Finite(v) {
		return nil
	}
	return &v
}

// beatVariable tells a child which file is the pipe. It must not begin like an option, because an older psbench
// refuses unknown options.
const beatVariable = "_PSBENCH_HEARTBEAT"

// beatFile is the pipe's descriptor: the first one after the standard files, as in exec.Cmd.ExtraFiles.
const beatFile = 3

// BeatVariable returns the variable for a child whose first extra file is the pipe.
func BeatVariable() string { return beatVariable + "=" + strconv.Itoa(beatFile) }

// BeatPipe returns the pipe for this process's beats, or nil. Its children inherit neither pipe nor variable.
func BeatPipe() *os.File {
	value := os.Getenv(beatVariable)
	_ = os.Unsetenv(beatVariable)
	var info unix.Stat_t
	if value != strconv.Itoa(beatFile) || unix.Fstat(beatFile, &info) != nil || info.Mode&unix.S_IFMT != unix.S_IFIFO {
		return nil
	}
	unix.CloseOnExec(beatFile)
	if unix.SetNonblock(beatFile, true) != nil { // so that writes have a deadline
		return nil
	}
	return os.NewFile(beatFile, "the pipe of heartbeats")
}

// beatLimit is how long a slow reader may delay a beat; then the beat is dropped.
const beatLimit = 100 * time.Millisecond

// mostPhase limits a phase so that a beat is written as a whole or not at all; mostLine limits a beat.
const (
	mostPhase = 200
	mostLine  = 4096 // the size of an atomic write to a pipe
)

// SendBeats writes a beat to w every so often until stop is called; stop waits for the end and closes w.
func SendBeats(w *os.File, every time.Duration, now func() Beat) (stop func()) {
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-quit:
				return
			case at := <-tick.C:
				_ = w.SetWriteDeadline(at.Add(beatLimit)) // a lost beat does no harm
				_, _ = w.Write(beatLine(now()))
			}
		}
	}()
	return func() {
		close(quit)
		<-ended
		_ = w.Close()
	}
}

func beatLine(b Beat) []byte {
	if len(b.Phase) > mostPhase {
		b.Phase = b.Phase[:mostPhase]
	}
	text, err := json.Marshal(b)
	if err != nil {
		return nil
	}
	return append(text, '\n')
}

// ReadBeats passes every beat from r to hear until r ends. It ignores anything else.
func ReadBeats(r io.Reader, hear func(Beat)) {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, mostLine), mostLine)
	for lines.Scan() {
		var b Beat
		if json.Unmarshal(lines.Bytes(), &b) == nil && b.Iterations >= 0 && b.Of >= 0 && b.Rate >= 0 {
			hear(b)
		}
	}
}
