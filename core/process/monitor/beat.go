package monitor

import (
	"bufio"
	"encoding/json"
	"io"
	"math"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Beat is how far a run is. The psbench that runs it tells the one that started that, once a second, over a pipe
// that the child inherits and an older psbench takes no notice of.
type Beat struct {
	Phase string `json:"phase"` // e.g. measured pass
	// Iterations of the first trainer in this pass, and how many it will have; 0 where nobody knows.
	Iterations int64 `json:"iterations"`
	Of         int64 `json:"of"`
	// Rate is samples per second of all trainers, of late; 0 where it is not known.
	Rate float64 `json:"rate"`
	// Loss of the last iteration; nil without one and where it is not finite.
	Loss *float64 `json:"loss"`
	// SecondsLeft is until the end of the pass; nil where nobody knows.
	SecondsLeft *float64 `json:"seconds_left"`
}

// Finite is v, or nil if that is no number that JSON can hold.
func Finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// beatVariable says in the environment of a child which file is the pipe. It does not begin as options
// do, since an older psbench refuses those that it does not know.
const beatVariable = "_PSBENCH_HEARTBEAT"

// beatFile is that of the pipe: the first after the standard ones, as exec.Cmd.ExtraFiles has it.
const beatFile = 3

// BeatVariable is what the environment of a child needs whose first extra file is the pipe.
func BeatVariable() string { return beatVariable + "=" + strconv.Itoa(beatFile) }

// BeatPipe is the pipe that this process was given to tell by, or nil. Processes that it starts
// inherit neither the pipe nor the variable.
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

// beatLimit is how long a reader may keep a beat waiting, which is lost then.
const beatLimit = 100 * time.Millisecond

// mostPhase bounds a phase, so that a beat is written as a whole or not at all; mostLine a beat.
const (
	mostPhase = 200
	mostLine  = 4096 // which a pipe takes at once
)

// SendBeats tells w, every so often, how far the run is, until stop is called, which waits for that and
// closes w.
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
				_ = w.SetWriteDeadline(at.Add(beatLimit)) // a beat that nobody hears harms nobody
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

// ReadBeats gives hear every beat that comes over r, until that ends. What is no beat is passed over.
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
