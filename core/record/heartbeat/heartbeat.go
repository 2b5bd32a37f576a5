// Package heartbeat passes on how far a run is, once a second, from the psbench that runs it to the
// one that started that: over a pipe that the child inherits and an older psbench takes no notice of.
package heartbeat

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

// Beat is how far a run is.
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

// variable says in the environment of a child which file is the pipe. It does not begin as options
// do, since an older psbench refuses those that it does not know.
const variable = "_PSBENCH_HEARTBEAT"

// file is that of the pipe: the first after the standard ones, as exec.Cmd.ExtraFiles has it.
const file = 3

// Variable is what the environment of a child needs whose first extra file is the pipe.
func Variable() string { return variable + "=" + strconv.Itoa(file) }

// Inherited is the pipe that this process was given to tell by, or nil. Processes that it starts
// inherit neither the pipe nor the variable.
func Inherited() *os.File {
	value := os.Getenv(variable)
	_ = os.Unsetenv(variable)
	var info unix.Stat_t
	if value != strconv.Itoa(file) || unix.Fstat(file, &info) != nil || info.Mode&unix.S_IFMT != unix.S_IFIFO {
		return nil
	}
	unix.CloseOnExec(file)
	if unix.SetNonblock(file, true) != nil { // so that writes have a deadline
		return nil
	}
	return os.NewFile(file, "the pipe of heartbeats")
}

// writeLimit is how long a reader may keep a beat waiting, which is lost then.
const writeLimit = 100 * time.Millisecond

// mostPhase bounds a phase, so that a beat is written as a whole or not at all; mostLine a beat.
const (
	mostPhase = 200
	mostLine  = 4096 // which a pipe takes at once
)

// Send tells w, every so often, how far the run is, until stop is called, which waits for that and
// closes w.
func Send(w *os.File, every time.Duration, now func() Beat) (stop func()) {
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
				_ = w.SetWriteDeadline(at.Add(writeLimit)) // a beat that nobody hears harms nobody
				_, _ = w.Write(lineOf(now()))
			}
		}
	}()
	return func() {
		close(quit)
		<-ended
		_ = w.Close()
	}
}

func lineOf(b Beat) []byte {
	if len(b.Phase) > mostPhase {
		b.Phase = b.Phase[:mostPhase]
	}
	text, err := json.Marshal(b)
	if err != nil {
		return nil
	}
	return append(text, '\n')
}

// Read gives hear every beat that comes over r, until that ends. What is no beat is passed over.
func Read(r io.Reader, hear func(Beat)) {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, mostLine), mostLine)
	for lines.Scan() {
		var b Beat
		if json.Unmarshal(lines.Bytes(), &b) == nil && b.Iterations >= 0 && b.Of >= 0 && b.Rate >= 0 {
			hear(b)
		}
	}
}
