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

// Beat describes the progress of a run. A psbench process that another psbench has started sends a Beat once a second
// over an inherited pipe. Older versions of psbench ignore the pipe.
type Beat struct {
	Phase string `json:"phase"` // such as measured pass
	// Iterations counts the iterations of the first trainer in this pass. Of is their total, or 0 if unknown.
	Iterations int64 `json:"iterations"`
	Of         int64 `json:"of"`
	// Rate is the recent rate in samples per second, summed over all trainers. Rate is 0 if unknown.
	Rate float64 `json:"rate"`
	// Loss is the loss of the last iteration. Loss is nil if there is no loss or it is not finite.
	Loss *float64 `json:"loss"`
	// SecondsLeft is the estimated time to the end of the pass in seconds, or nil if unknown.
	SecondsLeft *float64 `json:"seconds_left"`
}

// Finite returns a pointer to v, or nil if JSON cannot hold it.
func Finite(v float64) *float64 {
	if !numeral.Finite(v) {
		return nil
	}
	return &v
}

// beatVariable tells a child process which file descriptor is the pipe. The variable's name must not have the prefix of
// options, because an older psbench refuses unknown options.
const beatVariable = "_PSBENCH_HEARTBEAT"

// beatFile is the file descriptor of the pipe in a child process. beatFile is the first one after the standard files,
// as for exec.Cmd.ExtraFiles.
const beatFile = 3

// BeatVariable returns the variable NAME=VALUE for a child process whose first extra file is the pipe.
func BeatVariable() string { return beatVariable + "=" + strconv.Itoa(beatFile) }

// BeatPipe returns the pipe to which this process sends beats, or nil. Child processes of this process inherit neither
// the pipe nor the variable.
func BeatPipe() *os.File {
	value := os.Getenv(beatVariable)
	_ = os.Unsetenv(beatVariable)
	var info unix.Stat_t
	if value != strconv.Itoa(beatFile) || unix.Fstat(beatFile, &info) != nil || info.Mode&unix.S_IFMT != unix.S_IFIFO {
		return nil
	}
	unix.CloseOnExec(beatFile)
	if unix.SetNonblock(beatFile, true) != nil { // makes deadlines for writes possible
		return nil
	}
	return os.NewFile(beatFile, "the pipe of heartbeats")
}

// beatLimit is how long a slow reader may delay a beat. A beat that is delayed longer is dropped.
const beatLimit = 100 * time.Millisecond

// mostPhase and mostLine limit the bytes of a phase's name and of a beat, so that a beat is written completely or not
// at all.
const (
	mostPhase = 200
	mostLine  = 4096 // a pipe writes up to this size atomically
)

// SendBeats writes a beat to w at regular intervals. stop ends this, waits for the end of the last write and closes w.
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

// ReadBeats calls hear with every beat that it reads from r, until r ends. ReadBeats ignores all other text.
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
