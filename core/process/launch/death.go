package launch

import (
	"fmt"
	"regexp"
	"strings"
	"syscall"

	"github.com/psbench/psbench/internal/bytesize"
)

// status says how the process ended, and during which phase.
func (c *child) status(phase string) string {
	if c.ended == nil {
		return fmt.Sprintf("ended during %s with its supervisor (process %d)", phase, c.launcher.supervisor.Process.Pid)
	}
	ws := c.ended.Status
	var why string
	if c.exceeded() {
		why = fmt.Sprintf(", because it needs more than the %s of --plugin-memory", bytesize.Format(int(c.memory)))
	}
	switch {
	case !ws.Signaled():
		return fmt.Sprintf("ended with exit status %d during %s%s", ws.ExitStatus(), phase, why)
	case ws.Signal() == syscall.SIGKILL && why == "":
		return "was killed by signal 9 during " + phase + " (possibly out of memory)"
	default:
		return fmt.Sprintf("was killed by signal %d (%s) during %s%s", ws.Signal(), ws.Signal(), phase, why)
	}
}

// exceeded says whether the process, which has ended, wanted more memory than it may use. Of a
// cgroup the kernel counts that. Who is under RLIMIT_DATA it only refuses, which it tells nobody
// else: what counts then is how the process ended, by its own runtime's account.
func (c *child) exceeded() bool {
	if c.memory == 0 || c.ended.Counted {
		return c.ended.Exceeded
	}
	c.drained()
	return c.ended.Status != 0 && c.words.exhausted()
}

// refusals are the lines with which a runtime ends a program, or its system library says, that
// there is no memory: that of Go, C++ and Rust, a Python exception, and the words of the C library
// for ENOMEM after those of a program, a shell say. A panic of Go that has such words is none: Go
// cannot recover from a want of memory.
var refusals = regexp.MustCompile(`^fatal error: .*(out of memory|cannot allocate)|` +
	`^terminate called after throwing an instance of 'std::bad_alloc'|` +
	`^memory allocation of \d+ bytes failed|` +
	`^([\w.]+\.)?_?(Array)?MemoryError(:|$)|` +
	`^\S.*: ([Cc]annot allocate memory|cannot allocate \d+ bytes.*)$`)

// exhausted says whether the last words are that there is no memory.
func (w *words) exhausted() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.trace.why != "" {
		return refusals.MatchString(w.trace.why)
	}
	for _, line := range w.tail.lines() {
		if refusals.MatchString(strings.TrimSpace(line)) {
			return true
		}
	}
	return false
}
