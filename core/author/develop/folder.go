package develop

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/psbench/psbench/core/host/executable"
	"github.com/psbench/psbench/internal/quote"
)

// Claim makes this process the only one that develops a folder, until it calls release: two would
// build one program, and each refuse what the other has built.
func Claim(dir string) (release func(), err error) {
	f, err := os.Open(dir) // #nosec G304 -- the user's
	if err != nil {
		return nil, fmt.Errorf("the folder of a plugin's source cannot be opened: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) // #nosec G115 -- a descriptor
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = fmt.Errorf("another psbench plugin dev works on folder %s: only one can", quote.Word(dir))
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return func() { _ = f.Close() }, nil
}

// IsScript says whether a program is a script of Python, which is its own source: nothing is built.
func IsScript(program string) bool { return filepath.Ext(program) == pythonExtension }

const pythonExtension = ".py"

// Program is the path of the program that a folder's source makes, or of the script that it is. Its
// name is what the folder's registry.json runs, if that runs one program of the folder; else the last
// element of the module's path, and without a module the one script that can be run, or the name of the folder.
func Program(dir string) (string, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if name := registered(absolute); name != "" {
		return filepath.Join(absolute, name), nil
	}
	name := filepath.Base(absolute)
	f, err := executable.Open(filepath.Join(absolute, "go.mod"))
	if err != nil {
		if script := onlyScript(absolute); script != "" {
			return script, nil
		}
		return filepath.Join(absolute, name), nil
	}
	defer func() { _ = f.Close() }()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if fields := strings.Fields(lines.Text()); len(fields) >= 2 && fields[0] == "module" {
			name = filepath.Base(strings.Trim(fields[1], `"`))
			break
		}
	}
	return filepath.Join(absolute, name), nil
}

// onlyScript is the one script of Python in a folder that can be run, or nothing.
func onlyScript(dir string) (script string) {
	entries, _ := os.ReadDir(dir) // what is wrong with the folder who opens it says
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		if info, err := os.Stat(path); err != nil || !IsScript(path) || !info.Mode().IsRegular() ||
			info.Mode()&0o111 == 0 {
			continue
		}
		if script != "" {
			return ""
		}
		script = path
	}
	return script
}

// registered is the one program of the folder that its registry.json runs, or nothing. What is
// wrong with that file a run that reads it says.
func registered(dir string) string {
	var file struct {
		Plugins map[string]struct {
			Command []string `json:"command"`
		} `json:"plugins"`
	}
	f, err := executable.Open(filepath.Join(dir, "registry.json"))
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	if json.NewDecoder(f).Decode(&file) != nil || len(file.Plugins) != 1 {
		return ""
	}
	for _, plugin := range file.Plugins {
		if len(plugin.Command) == 1 {
			if name := filepath.Clean(plugin.Command[0]); filepath.IsLocal(name) && name != "." &&
				filepath.Base(name) == name {
				return name
			}
		}
	}
	return ""
}
