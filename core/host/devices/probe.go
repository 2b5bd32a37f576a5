package devices

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/psbench/psbench/internal/quote"
)

// Argument as the first argument makes the executable ask the driver and print what it says. The second one is for how
// many devices, from the first one on, it is asked how much memory is free.
const Argument = "__devices"

// answer is what the child prints: a list, or why there is none.
type answer struct {
	List  *List  `json:"list,omitempty"`
	Error string `json:"error,omitempty"`
}

// Child is the main function of the process that asks the driver.
func Child() int {
	ranks, err := strconv.Atoi(strings.Join(os.Args[2:], " "))
	if err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "psbench: %s has %q after it but must have a number of devices\n", Argument, os.Args[2:])
		return 2
	}
	list, err := ask(ranks)
	a := answer{List: list}
	if err != nil {
		a.Error = err.Error()
	}
	if err := json.NewEncoder(os.Stdout).Encode(a); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "psbench:", err)
		return 1
	}
	return 0
}

// patience is how long a driver may take: to wake many devices takes some 10 s where no daemon
// keeps them awake.
const patience = 60 * time.Second

// probe asks the driver in a child, for the free memory of the devices that so many ranks are on, too.
func probe(ctx context.Context, patience time.Duration, ranks int) (*List, error) {
	out, err := output(ctx, patience, "/proc/self/exe", Argument, strconv.Itoa(ranks))
	if err != nil {
		return nil, fmt.Errorf("the process that asks the CUDA driver for its devices %w: look at the driver, as by nvidia-smi", err)
	}
	var a answer
	d := json.NewDecoder(bytes.NewReader(out))
	d.DisallowUnknownFields()
	switch err := d.Decode(&a); {
	case err == nil && a.Error != "" && a.List == nil:
		return nil, errors.New(a.Error)
	case err == nil && a.Error == "" && a.List != nil && a.List.sound():
		return a.List, nil
	default:
		return nil, fmt.Errorf("the process that asks the CUDA driver for its devices says %s, which is no list of them: look at what the driver prints", quote.String(strings.TrimSpace(string(out))))
	}
}

// sound says that the list is one: devices by ordinal, and peers among them.
func (l *List) sound() bool {
	for i, d := range l.Devices {
		if d.Ordinal != i {
			return false
		}
		for _, p := range d.Peers {
			if p < 0 || p >= len(l.Devices) || p == i {
				return false
			}
		}
	}
	return len(l.Devices) > 0
}

// mostOutput is more than any child has to say.
const mostOutput = 1 << 20

// output is what a program prints to standard output. Its errors go on after the name of the program:
// "did not answer within 10 s".
func output(ctx context.Context, patience time.Duration, program string, arguments ...string) ([]byte, error) {
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
