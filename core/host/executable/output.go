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

// mostOutput is more than any child has to say.
const mostOutput = 1 << 20

// Output is what a program prints to standard output. It ends the program after so much patience. An error goes on
// after the name of the program: "did not answer within 10 s".
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
	cmd.WaitDelay = 100 * time.Millisecond // for what it started itself
	// It ends with the thread that starts it, so that nothing outlives psbench.
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

// kept keeps the beginning of what is written to it.
type kept struct{ bytes []byte }

// Write implements io.Writer.
func (k *kept) Write(p []byte) (int, error) {
	k.bytes = append(k.bytes, p[:min(len(p), mostOutput-len(k.bytes))]...)
	return len(p), nil
}

// last is the first line of the words, to be added to an error: a crash says there what it was.
func (k *kept) last() string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(k.bytes)), "\n")
	if line == "" {
		return ""
	}
	return ", saying " + quote.String(line)
}
