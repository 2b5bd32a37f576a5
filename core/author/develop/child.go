package develop

import (
	"context"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// patience is how long a child process may take to end after an interrupt.
const patience = 30 * time.Second

// Build builds the program from the source in dir. Build writes the compiler's output to w. If program is a script,
// Build does nothing.
func Build(ctx context.Context, dir, program string, w io.Writer) error {
	if _, err := os.Stat(dir); err != nil || IsScript(program) { // if dir is missing, exec reports go as missing
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-o", program, ".") // #nosec G204 -- the user's folder
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, w, w
	// The interrupt must also reach the compilers that go has started.
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	return child(cmd)
}

// Psbench runs psbench itself with these arguments.
func Psbench(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	cmd := exec.CommandContext(ctx, "/proc/self/exe") // #nosec G204 -- psbench itself
	cmd.Args, cmd.Stdout, cmd.Stderr = args, stdout, stderr
	// psbench itself ends the processes that it has started.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	return child(cmd)
}

// child runs a command in its own process group, so that it does not get the terminal's Ctrl-C twice. The command is
// interrupted when its context or this process ends. If the command takes longer than 30 s to end after the interrupt,
// it is killed.
func child(cmd *exec.Cmd) error {
	// The kernel sends the signal Pdeathsig when the thread that started the child ends, not when the process does.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGINT}
	cmd.WaitDelay = patience
	return cmd.Run()
}
