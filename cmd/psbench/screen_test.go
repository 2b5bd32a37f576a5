package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// What is printed fits the terminal; on the same terminal without a width it is in full.
func TestOutputFitsTheTerminal(t *testing.T) {
	small := "--epochs 1 --batch-size 50 --quiet --set model.dense_layers_count=2"
	for _, args := range []string{
		"list", "list trainer", "config", "--help", "comm --help", small,
		"comm pushpull allreduce barrier --transport shm,tcp --sizes 4K --rounds 20 --repeat 1 --quiet",
	} {
		for _, columns := range []int{80, 100} {
			for line := range strings.Lines(onTerminal(t, columns, args)) {
				if n := utf8.RuneCountInString(strings.TrimRight(line, "\r\n")); n > columns {
					t.Errorf("psbench %s prints %d columns on a terminal of %d: %s", args, n, columns, line)
				}
			}
		}
	}
	_, piped, _ := psbenchMain(t, "list")
	if full := strings.ReplaceAll(onTerminal(t, 0, "list"), "\r\n", "\n"); full != piped {
		t.Errorf("a terminal without a width shows\n%s\nand a pipe\n%s", full, piped)
	}
}

// onTerminal is what psbench prints on a terminal of so many columns.
func onTerminal(t *testing.T, columns int, args string) string {
	t.Helper()
	control, terminal := openTerminal(t, columns)
	defer func() { _ = control.Close() }()
	cmd := &exec.Cmd{Path: "/proc/self/exe", Args: append([]string{"psbench"}, strings.Fields(args)...), Stdout: terminal, Stderr: io.Discard}
	var out bytes.Buffer
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(&out, control) // until nobody has the terminal open any more
	}()
	err := cmd.Run()
	_ = terminal.Close()
	<-read
	if err != nil {
		t.Fatalf("psbench %s: %v\n%s", args, err, &out)
	}
	return out.String()
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
