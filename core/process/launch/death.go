package launch

import (
	"fmt"
	"regexp"
	"strings"
	"syscall"

	"github.com/psbench/psbench/internal/bytesize"
)

// status returns a phrase that says how the process ended, and in which phase of the run.
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

// exceeded reports whether the ended process, or a child of it, wanted more memory than its limit. If a cgroup sets the
// limit, the kernel counts the processes that it killed for this. If RLIMIT_DATA sets the limit, the kernel refuses
// memory without reporting it. In that case exceeded looks for the out-of-memory message of the process's runtime.
func (c *child) exceeded() bool {
	if c.memory == 0 || c.ended.Counted {
		return c.ended.Exceeded
	}
	c.drained()
	return c.ended.Status != 0 && c.words.exhausted()
}

// refusals matches the out-of-memory messages of Go, C++, Rust and Python. refusals also matches the C library's text
// for ENOMEM after the name of a program, such as a shell. refusals does not match a Go panic with the same words,
// because a Go program without memory dies with a fatal error and not with a panic.
var refusals = regexp.MustCompile(`^fatal error: .*(out of memory|cannot allocate)|` +
	`^terminate called after throwing an instance of 'std::bad_alloc'|` +
	`^memory allocation of \d+ bytes failed|` +
	`^([\w.]+\.)?_?(Array)?MemoryError(:|$)|` +
	`^\S.*: ([Cc]annot allocate memory|cannot allocate \d+ bytes.*)$`)

// exhausted reports whether the last output says that memory ran out.
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
