//go:build !race

package main

import (
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// On a terminal a picture precedes the tables, unless the terminal is too narrow or the user turned pictures off.
func TestPicturesOnATerminal(t *testing.T) {
	const title = "iterations by their time in ms"
	for _, c := range []struct {
		flags       string
		columns     int
		drawn       bool
		environment []string
	}{
		{"", 80, true, nil},
		{"", 40, true, []string{"LC_ALL=POSIX"}},
		{"", 39, false, nil},
		{"--pictures=false", 80, false, nil},
		{"--pictures", 100, true, []string{"NO_COLOR=1"}},
	} {
		t.Run(c.flags, func(t *testing.T) {
			control, terminal := openTerminal(t, c.columns)
			cmd := &exec.Cmd{
				Path: "/proc/self/exe", Stdout: terminal, Stderr: io.Discard,
				Env: append(os.Environ(), c.environment...),
				Args: append(strings.Fields("psbench show ../../core/record/folder/testdata/schema3"),
					strings.Fields(c.flags)...),
			}
			out := shown(t, cmd, control, terminal)
			_ = control.Close()
			if strings.Contains(out, title) != c.drawn || strings.Contains(out, "\x1b") {
				t.Errorf("%+v: %q", c, out)
			}
			if ascii := len(c.environment) > 0 && strings.HasPrefix(c.environment[0], "LC_ALL"); c.drawn &&
				strings.Contains(out, "█") == ascii {
				t.Errorf("%+v: %q", c, out)
			}
		})
	}
}
