package executable

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/psbench/psbench/internal/quote"
)

// mostOutput limits the output of a child process, in bytes.
const mostOutput = 1 << 20

// Output returns the standard output of a program. Output kills the program after the time patience. Errors of Output
// continue a sentence that begins with the program's name, as in "did not answer within 10 s".
func Output(ctx context.Context, patience time.Duration, program string, arguments ...string) ([]byte, error) {
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var out, words kept
	cmd := exec.CommandContext(limited, program, arguments...) // #nosec G204 -- psbench itself, or psbench-cuda
	cmd.Args[0] = filepath.Base(os.Args[0])
	if program != "/proc/self/exe" {
		cmd.Args[0] = program
	}
	cmd.Stdout, cmd.Stderr = &out, &words
	cmd.WaitDelay = 100 * time.Millisecond // in case children of the program keep its output open
	// The kernel kills the child process when the thread that started it ends, so the child never outlives psbench.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	err := cmd.Run()
	switch exit := (*exec.ExitError)(nil); {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case limited.Err() != nil:
		return nil, fmt.Errorf("did not answer within %v", patience)
	case errors.As(err, &exit):
		return nil, fmt.Errorf("ended with %v%s", exit.ProcessState, words.last())
	case err != nil:
		return nil, fmt.Errorf("cannot be started: %w", err)
	}
	return out.bytes, nil
}

// kept stores the beginning of the bytes that are written to it.
type kept struct{ bytes []byte }

// Write implements io.Writer.
func (k *kept) Write(p []byte) (int, error) {
	k.bytes = append(k.bytes, p[:min(len(p), mostOutput-len(k.bytes))]...)
	return len(p), nil
}

// last returns the first line of the stored output for an error message, because a crash prints its cause there.
func (k *kept) last() string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(k.bytes)), "\n")
	if line == "" {
		return ""
	}
	return ", saying " + quote.String(line)
}
