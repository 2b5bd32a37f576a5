package executable

import (
	"bytes"
	"debug/elf"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The beginning of a file explains why the system cannot run it.
func TestFault(t *testing.T) {
	own, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	foreign := bytes.Clone(own)
	machine := elf.EM_RISCV
	foreign[18], foreign[19] = byte(machine), byte(machine>>8)
	const body = "\nimport psbench\n"
	for name, c := range map[string]struct{ text, want string }{
		"a script":     {"#!/bin/sh" + body, ""},
		"of env":       {"#!/usr/bin/env sh" + body, ""},
		"with a space": {"#! /usr/bin/env -S sh -e" + body, ""},
		"a program":    {string(own), ""},
		"a carriage return": {"#!/bin/sh\r" + body,
			`the first line of FILE ends in a Windows carriage return, which becomes part of "/bin/sh\r": sed -i 's/\r$//' FILE removes the carriage returns`},
		"a carriage return after env":  {"#!/usr/bin/env sh\r" + body, `part of "sh\r"`},
		"a carriage return of options": {"#!/bin/sh -e\r" + body, `part of "-e\r"`},
		"a carriage return split":      {"#!/usr/bin/env -S sh -e\r" + body, ""},
		"a byte order mark": {"\xef\xbb\xbf#!/bin/sh" + body,
			"FILE begins with a byte order mark, but #! must be its first two bytes"},
		"UTF-16": {"\xff\xfe#\x00!\x00", "FILE is text in UTF-16"},
		"an empty line": {"\n#!/bin/sh" + body,
			"FILE begins with white space, but #! must be its first two bytes"},
		"no interpreter": {body, "FILE begins with no #!"},
		"an empty one":   {"#!\n", "names no interpreter"},
		"a missing one": {"#!/no/such/python3" + body,
			"the first line of FILE names the interpreter /no/such/python3, which is not there: write another, such as #!/usr/bin/env python3"},
		"one without its path": {"#!python3" + body, "names the interpreter python3 without its path"},
		"a file that is no program": {"#!/etc/passwd" + body,
			"names the interpreter /etc/passwd, which is no program"},
		"a folder":        {"#!/usr" + body, "names the interpreter /usr, which is no program"},
		"missing in PATH": {"#!/usr/bin/env python9 -u" + body, "names python9, which is not in PATH"},
		"too long": {"#!/" + strings.Repeat("x", 300) + body,
			"is longer than the 255 bytes that the kernel reads"},
		"an empty file": {"", "FILE is empty"},
		"of another machine": {string(foreign),
			"FILE is a program for riscv, but this machine is "},
		"half a program": {elf.ELFMAG, "FILE is a damaged program"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "plugin")
			if err := os.WriteFile(path, []byte(c.text), 0o700); err != nil {
				t.Fatal(err)
			}
			got := strings.ReplaceAll(Fault(path), path, "FILE")
			if c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("it says %q, want %q", got, c.want)
			}
		})
	}
}
