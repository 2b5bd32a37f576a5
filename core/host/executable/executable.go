// Package executable finds the files that a plugin's command runs, their checksums, and whether other users could
// change them. The package also runs a program and returns its output.
package executable

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// File is a file that a command runs.
type File struct {
	Path   string // absolute, without symbolic links
	SHA256 string // checksum in hex
}

// deepest is how many levels of nested interpreters the kernel allows.
const deepest = 5

// Files returns the files that a command runs, in the order of Paths, with their current checksums.
func Files(command []string) ([]File, error) {
	paths, err := Paths(command)
	if err != nil {
		return nil, err
	}
	files := make([]File, len(paths))
	for i, path := range paths {
		sum, err := SumOf(path)
		if err != nil {
			return nil, err
		}
		files[i] = File{path, sum}
	}
	return files, nil
}

// Paths lists the files that a command runs, resolved and without duplicates. The program comes first. If the program
// is a script, its interpreters follow, including env and the program that env finds. After the interpreters come the
// arguments that name files, such as a script for an interpreter. The modules that a Python script imports from its own
// folder come last.
func Paths(command []string) ([]string, error) {
	var paths []string
	add := func(path string) error {
		resolved, err := Resolve(path)
		if err == nil && !slices.Contains(paths, resolved) {
			paths = append(paths, resolved)
		}
		return err
	}
	python, script, of := false, command[0], ""
	next := []string{command[0]}
	for depth := 0; len(next) > 0; depth++ {
		if depth > deepest {
			return nil, fmt.Errorf("%s has a chain of more than %d interpreters", command[0], deepest)
		}
		for _, path := range next {
			if err := add(path); err != nil {
				if fault := Fault(of); fault != "" {
					err = errors.New(fault)
				}
				return nil, err
			}
			python = python || isPython(path)
		}
		var arguments []string
		var err error
		of = next[len(next)-1]
		if next, arguments, err = interpreters(of); err != nil {
			return nil, err
		}
		command = slices.Concat(command[:1], arguments, command[1:])
	}
	for _, argument := range command[1:] {
		if NamesFile(argument) {
			if err := add(argument); err != nil {
				return nil, err
			}
			if isPython(script) {
				script = argument
			}
		}
	}
	if !python || isPython(script) {
		return paths, nil
	}
	files, err := modules(script)
	for _, file := range files {
		if err := add(file); err != nil {
			return nil, err
		}
	}
	return paths, err
}

// NamesFile reports whether an argument is the path of a regular file. A word without slash and dot does not count,
// even if a file has this name. To name a file without slash and dot, write ./NAME.
func NamesFile(argument string) bool {
	return strings.ContainsAny(argument, "/.") && IsFile(argument)
}

// IsFile reports whether path is a regular file.
func IsFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// Resolve returns the absolute path of a file, with all symbolic links resolved.
func Resolve(path string) (string, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(absolute)
}

// longestLine is how many bytes of a script's first line the kernel reads.
const longestLine = 256

// interpreters returns the programs that the first line of a script names, in the order in which they run. interpreters
// also returns the arguments of the last program. For a program that is not a script, both are empty.
func interpreters(path string) (programs, arguments []string, err error) {
	file, err := Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = file.Close() }()
	start := make([]byte, longestLine)
	n, err := file.ReadAt(start, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	words := shebang(start[:n])
	if len(words) == 0 {
		return nil, nil, nil
	}
	if programs = words[:1:1]; filepath.Base(words[0]) != "env" {
		return programs, words[1:], nil
	}
	for i, word := range words[1:] {
		switch {
		case word == "-S" || word == "-i" ||
			strings.Contains(word, "=") && !strings.HasPrefix(word, "-") && !strings.HasPrefix(word, "PATH="):
			continue
		// An option may take the next word as its value, or change where env searches for programs.
		case strings.HasPrefix(word, "-") || strings.HasPrefix(word, "PATH="):
			return nil, nil,
				fmt.Errorf("%s runs env with %s, so psbench cannot tell which program it starts: only -S, -i and variables may follow env",
					path, word)
		}
		program, err := exec.LookPath(word)
		if err != nil {
			return nil, nil, fmt.Errorf("%s is a script for %s, which is not found: %w", path, word, err)
		}
		return append(programs, program), words[2+i:], nil
	}
	return programs, nil, nil
}

// shebang returns the words of a script's first line, beginning with the interpreter.
func shebang(start []byte) []string {
	line, script := bytes.CutPrefix(start, []byte("#!"))
	if !script {
		return nil
	}
	line, _, _ = bytes.Cut(line, []byte("\n"))
	return strings.Fields(string(line))
}

// Open opens a regular file for reading. Open returns an error for a pipe, because reading it might never end.
func Open(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // #nosec G304 -- the user names it
	if err != nil {
		return nil, err
	}
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		_ = file.Close()
		return nil, fmt.Errorf("%s is no regular file", path)
	}
	return file, nil
}

// Sum returns the SHA-256 of a whole file in hex. Sum does not depend on the file's current offset.
func Sum(file *os.File) (string, error) {
	hash := sha256.New()
	if _, err := io.Copy(hash, io.NewSectionReader(file, 0, 1<<62)); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// SumOf returns the SHA-256 of the file at a path, in hex.
func SumOf(path string) (string, error) {
	file, err := Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	return Sum(file)
}
