package executable

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/psbench/psbench/internal/quote"
)

// example is a first line that works on all systems with Python.
const example = "#!/usr/bin/env python3"

// Fault explains why the kernel, or env, cannot run an existing program, and what to do. Fault returns "" if it finds
// no reason. The kernel reports only "no such file", even if the missing file is an interpreter.
func Fault(path string) string {
	file, err := Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }()
	start := make([]byte, longestLine)
	n, _ := file.ReadAt(start, 0)
	start = start[:n]
	name := quote.Word(path)
	switch text := bytes.TrimLeft(start, "\xef\xbb\xbf \t\r\n"); {
	case n == 0:
		return name + " is empty"
	case bytes.HasPrefix(start, []byte(elf.ELFMAG)):
		return elfFault(file, name)
	case bytes.HasPrefix(start, []byte("#!")):
		if fault := scriptFault(path, start); fault != "" {
			return fmt.Sprintf("the first line of %s %s", name, fault)
		}
	case bytes.HasPrefix(start, []byte("\xff\xfe")) || bytes.HasPrefix(start, []byte("\xfe\xff")):
		return name + " is text in UTF-16: save it in UTF-8"
	case bytes.HasPrefix(text, []byte("#!")) && bytes.HasPrefix(start, []byte("\xef\xbb\xbf")):
		return name +
			` begins with a byte order mark, but #! must be its first two bytes: save it as UTF-8 without one, or sed -i '1s/^\xEF\xBB\xBF//' ` +
			quote.Shell(path)
	case bytes.HasPrefix(text, []byte("#!")):
		return name + " begins with white space, but #! must be its first two bytes"
	default:
		return name + " begins with no #!: a script begins with the program that runs it, such as " + example
	}
	if in := new(unix.Statfs_t); unix.Statfs(path, in) == nil && in.Flags&unix.ST_NOEXEC != 0 {
		return name + " is on a file system that is mounted noexec: move it to another"
	}
	return ""
}

// scriptFault explains what is wrong with the first line of a script. start is the beginning of the script.
func scriptFault(path string, start []byte) string {
	line, _, whole := bytes.Cut(start, []byte("\n"))
	words := shebang(line)
	const instead = ": write another, such as " + example
	switch {
	case len(words) == 0:
		return "names no interpreter" + instead
	case !whole && len(start) == longestLine:
		return fmt.Sprintf("is longer than the %d bytes that the kernel reads%s", longestLine-1, instead)
	// After -S, env treats a carriage return as white space.
	case bytes.HasSuffix(line, []byte("\r")) && (!isEnv(words) || len(words) < 2 || words[1] != "-S"):
		return fmt.Sprintf("ends in a Windows carriage return, which becomes part of %s: sed -i 's/\\r$//' %s removes the carriage returns",
			quote.String(words[len(words)-1]+"\r"), quote.Shell(path))
	}
	switch info, err := os.Stat(words[0]); {
	case err != nil && !filepath.IsAbs(words[0]):
		return fmt.Sprintf("names the interpreter %s without its path%s", quote.Word(words[0]), instead)
	case err != nil:
		return fmt.Sprintf("names the interpreter %s, which is not there%s", quote.Word(words[0]), instead)
	case info.IsDir() || unix.Access(words[0], unix.X_OK) != nil:
		return fmt.Sprintf("names the interpreter %s, which is no program%s", quote.Word(words[0]), instead)
	case !isEnv(words):
		return ""
	}
	for _, word := range words[1:] {
		if strings.HasPrefix(word, "-") || strings.Contains(word, "=") {
			continue
		}
		if _, err := exec.LookPath(word); errors.Is(err, exec.ErrNotFound) {
			return fmt.Sprintf("names %s, which is not in PATH: install it, or write another", quote.Word(word))
		}
		break
	}
	return ""
}

func isEnv(words []string) bool { return filepath.Base(words[0]) == "env" }

// elfFault explains what is wrong with a compiled program.
func elfFault(file *os.File, name string) string {
	program, err := elf.NewFile(file)
	own, failed := elf.Open("/proc/self/exe")
	if err != nil || failed != nil {
		return name + " is a damaged program"
	}
	defer func() { _ = own.Close() }()
	if program.Machine != own.Machine {
		return fmt.Sprintf("%s is a program for %s, but this machine is %s: build it here", name,
			machineOf(program), machineOf(own))
	}
	for _, part := range program.Progs {
		if part.Type != elf.PT_INTERP || part.Filesz > unix.PathMax {
			continue
		}
		loader := make([]byte, part.Filesz)
		_, _ = part.ReadAt(loader, 0)
		path := string(bytes.TrimRight(loader, "\x00"))
		if _, err := os.Stat(path); err != nil {
			return fmt.Sprintf(
				"%s needs a C library with the loader %s, which this machine lacks: build it here, or link it statically",
				name, quote.Word(path))
		}
	}
	return ""
}

func machineOf(f *elf.File) string {
	return strings.ToLower(strings.TrimPrefix(f.Machine.String(), "EM_"))
}
