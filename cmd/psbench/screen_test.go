//go:build !race

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// Output fits the terminal. On a terminal of unknown width, psbench prints everything in full.
func TestOutputFitsTheTerminal(t *testing.T) {
	small := "--epochs 1 --batch-size 50 --quiet --set model.dense_layers_count=2"
	for _, args := range []string{
		"list", "list trainer", "config", "--help", "comm --help", small,
		"comm pushpull allreduce barrier --transport shm,tcp --sizes 4K --rounds 20 --repeat 1 --quiet",
	} {
		t.Run(fmt.Sprintf("%.60s", args), func(t *testing.T) {
			for _, columns := range []int{80, 100} {
				for line := range strings.Lines(onTerminal(t, columns, args)) {
					if n := utf8.RuneCountInString(strings.TrimRight(line, "\r\n")); n > columns {
						t.Errorf("psbench %s prints %d columns on a terminal of %d: %s", args, n, columns, line)
					}
				}
			}
		})
	}
	_, piped, _ := psbenchMain(t, "list")
	if full := strings.ReplaceAll(onTerminal(t, 0, "list"), "\r\n", "\n"); full != piped {
		t.Errorf("a terminal without a width shows\n%s\nand a pipe\n%s", full, piped)
	}
}

// onTerminal returns what psbench prints on a terminal with the given number of columns.
func onTerminal(t *testing.T, columns int, args string) string {
	t.Helper()
	control, terminal := openTerminal(t, columns)
	defer func() { _ = control.Close() }()
	cmd := &exec.Cmd{Path: "/proc/self/exe", Args: append([]string{"psbench"}, strings.Fields(args)...),
		Stdout: terminal, Stderr: io.Discard}
	return shown(t, cmd, control, terminal)
}

// shown returns the output of a command on a terminal.
func shown(t *testing.T, cmd *exec.Cmd, control, terminal *os.File) string {
	t.Helper()
	var out bytes.Buffer
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(&out, control) // until all processes have closed the terminal
	}()
	err := cmd.Run()
	_ = terminal.Close()
	<-read
	if err != nil {
		t.Fatalf("%q: %v\n%s", cmd.Args, err, &out)
	}
	return out.String()
}

// The progress line fits the terminal and is bold or dim only if the user permits styles. A terminal that cannot
// redraw a line gets plain lines.
func TestLiveLine(t *testing.T) {
	const clear, bold = "\r\x1b[K", "\x1b[1m"
	styles := regexp.MustCompile(`\x1b\[[0-9]m`)
	for _, c := range []struct {
		environment string
		columns     int
		flags       string
		anew, bold  bool
	}{
		{"TERM=xterm NO_COLOR=", 80, "", true, true},
		{"TERM= NO_COLOR=", 60, "", true, true},
		{"TERM=xterm NO_COLOR=1", 40, "", true, false},
		{"TERM=dumb", 80, "", false, false},
		{"TERM=xterm", 80, "--quiet", false, false},
	} {
		t.Run(c.environment, func(t *testing.T) {
			control, terminal := openTerminal(t, c.columns)
			cmd := &exec.Cmd{
				Path: "/proc/self/exe", Stdout: io.Discard, Stderr: terminal,
				Env: append(os.Environ(), strings.Fields(c.environment)...),
				Args: append(strings.Fields("psbench --epochs 1 --set model.dense_layers_count=1"),
					strings.Fields(c.flags)...),
			}
			out := shown(t, cmd, control, terminal)
			_ = control.Close()
			if strings.Contains(out, clear) != c.anew || strings.Contains(out, bold) != c.bold {
				t.Errorf("%+v: %q", c, out)
			}
			if c.anew && !regexp.MustCompile(`measured pass(\x1b\[0m)?  0( of |/)`).MatchString(out) {
				t.Errorf("%+v: it does not tell of iterations: %q", c, out)
			}
			if !c.anew && c.flags == "" && !strings.Contains(out, "\r\nmeasured pass\r\n") ||
				c.flags != "" && out != "" {
				t.Errorf("%+v: %q", c, out)
			}
			for line := range strings.SplitSeq(out, clear) {
				if n := utf8.RuneCountInString(styles.ReplaceAllString(line, "")); c.anew && n >= c.columns {
					t.Errorf("%+v: %d columns: %q", c, n, line)
				}
			}
		})
	}
}

func openTerminal(t *testing.T, columns int) (control, terminal *os.File) {
	t.Helper()
	control, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	fd := int(control.Fd()) // #nosec G115 -- a file descriptor
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 25, Col: uint16(columns)}) // #nosec G115 -- small
	}
	if err == nil {
		terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	return control, terminal
}
