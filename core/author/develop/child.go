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

// patience is how long a child may take to end once it was interrupted.
const patience = 30 * time.Second

// Build builds the program of a folder's source, unless that is a script; what the compiler says goes
// to w.
func Build(ctx context.Context, dir, program string, w io.Writer) error {
	if _, err := os.Stat(dir); err != nil || IsScript(program) { // else the command would seem to be missing
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-o", program, ".") // #nosec G204 -- the user's folder
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, w, w
	// The compilers that go has started must end, too.
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	return child(cmd)
}

// Psbench runs psbench itself with these arguments.
func Psbench(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	cmd := exec.CommandContext(ctx, "/proc/self/exe") // #nosec G204 -- psbench itself
	cmd.Args, cmd.Stdout, cmd.Stderr = args, stdout, stderr
	// What it has started it ends itself.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	return child(cmd)
}

// child runs a command in a process group of its own, so that Ctrl-C of a terminal reaches it
// once, from here. It is interrupted when its context ends and when this process does, and
// killed if it takes longer than 30 s to end.
func child(cmd *exec.Cmd) error {
	// The kernel takes the end of the thread that started a child for the end of its parent.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGINT}
	cmd.WaitDelay = patience
	return cmd.Run()
}
