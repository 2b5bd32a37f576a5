package launch

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// Output says where the output of the processes goes.
type Output struct {
	// Line, if set, is called with each line of output, except the stack traces of a panicking process. Line must not
	// block, because the process would block too.
	Line func(process, text string)
	// Folder receives one log file per process, with all lines of the process. "" means no log files.
	Folder string
	// Log, if set, opens the writer for all lines of a process. This writer replaces the log file.
	Log func(process string) io.WriteCloser
}

// prepare makes the folder.
func (o Output) prepare() error {
	if o.Folder == "" {
		return nil
	}
	if err := os.MkdirAll(o.Folder, 0o777); err != nil { // #nosec G301 -- the user's umask says who may read it
		return fmt.Errorf("the folder for logs cannot be made: %w", err)
	}
	return nil
}

// longestPiece limits how many bytes of an unfinished line are stored.
const longestPiece = 64 << 10

// mostLogged limits the log of a process, in bytes, so that no process can fill a disk.
const mostLogged = 64 << 20

// words handles the output of a process. words passes all output to the user and the log. words also keeps the last
// output for the error message if the process dies.
type words struct {
	process string
	line    func(process, text string)

	mu      sync.Mutex
	log     io.WriteCloser // nil means no log
	room    int            // bytes that still fit in the log
	tail    tail
	trace   trace
	python  traceback
	streams []*stream
}

// stream is one source of words, such as standard error. Lines of different streams do not mix.
type stream struct {
	*words
	piece []byte // an unfinished line
}

func newWords(process string, o Output) (*words, error) {
	w := &words{process: process, line: o.Line, room: mostLogged}
	switch {
	case o.Log != nil:
		w.log = o.Log(process)
	case o.Folder != "":
		file, err := OpenLog(o.Folder, process)
		if err != nil {
			return nil, err
		}
		w.log = file
	}
	return w, nil
}

// OpenLog creates the log file of a process in a folder.
func OpenLog(folder, process string) (*os.File, error) {
	// The log may be a named pipe. If no one reads the pipe, opening the log must not block the run.
	file, err := os.OpenFile(filepath.Join(folder, process+".log"), os.O_WRONLY|os.O_CREATE|os.O_TRUNC|syscall.O_NONBLOCK, 0o666) // #nosec G302 G304 -- the user names it
	if err != nil {
		return nil, fmt.Errorf("the log of %s cannot be made: %w", process, err)
	}
	return file, nil
}

// stream adds a source of words.
func (w *words) stream() io.Writer {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := &stream{words: w}
	w.streams = append(w.streams, s)
	return s
}

// Write handles output of the process. Write accepts all bytes and never returns an error.
func (s *stream) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	size := len(b)
	for len(b) > 0 {
		text, rest, whole := bytes.Cut(b, []byte("\n"))
		s.tail.add(b[:len(b)-len(rest)])
		s.piece = append(s.piece, text...)
		if whole || len(s.piece) >= longestPiece {
			s.end()
		}
		b = rest
	}
	return size, nil
}

// end handles a complete line.
func (s *stream) end() {
	text := string(s.piece)
	s.piece = s.piece[:0]
	s.python.add(text)
	if s.trace.add(text); s.trace.why == "" && s.line != nil {
		s.line(s.process, text)
	}
	if s.log == nil {
		return
	}
	if s.room -= len(text) + 1; s.room < 0 {
		s.endLog(fmt.Errorf("it has %d MiB", mostLogged>>20))
		return
	}
	if _, err := io.WriteString(s.log, text+"\n"); err != nil {
		s.endLog(err)
	}
}

// endLog writes into the log why the log ends, even if the log is full.
func (w *words) endLog(why error) {
	text := fmt.Sprintf("the log of %s ends here: %v", w.process, why)
	_, _ = fmt.Fprintln(w.log, "psbench:", text)
	_ = w.log.Close()
	w.log = nil
	if w.line != nil {
		w.line("psbench", text)
	}
}

// close passes on unfinished lines and closes the log.
func (w *words) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.streams {
		if len(s.piece) > 0 {
			s.end()
		}
	}
	if w.log != nil {
		_ = w.log.Close()
		w.log = nil
	}
}

// last returns the last output on one line. If the process ended with a Go panic or a Python exception, last returns
// its message and where it occurred.
func (w *words) last() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.trace.why != "" {
		return w.trace.String()
	}
	for _, s := range w.streams { // Go's runtime writes a line in several pieces
		if piece := string(s.piece); isEnding(piece) {
			return piece
		}
	}
	if w.python.what != "" {
		return w.python.String()
	}
	return w.tail.String()
}

// tailLines and tailBytes limit how much of the last output is kept.
const (
	tailLines = 5
	tailBytes = 2000
)

// tail keeps the last lines of the text that is written to it.
type tail struct{ text []byte }

func (t *tail) add(b []byte) {
	t.text = append(t.text, b...)
	if over := len(t.text) - tailBytes; over > 0 {
		t.text = append(t.text[:0], t.text[over:]...)
	}
}

// lines returns the last lines.
func (t *tail) lines() []string {
	lines := strings.Split(strings.TrimSpace(string(t.text)), "\n")
	return lines[max(0, len(lines)-tailLines):]
}

// String returns the last lines on one line.
func (t *tail) String() string { return strings.TrimSpace(strings.Join(t.lines(), " | ")) }
