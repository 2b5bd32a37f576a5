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

// Claim makes this process the only one that develops a folder, until the caller calls release. Two processes would
// build the same program, and each would refuse the program that the other has built.
func Claim(dir string) (release func(), err error) {
	f, err := os.Open(dir) // #nosec G304 -- the user's
	if err != nil {
		return nil, fmt.Errorf("the plugin's source folder cannot be opened: %w", err)
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

// IsScript reports whether a program is a Python script. A script is its own source, so nothing is built.
func IsScript(program string) bool { return filepath.Ext(program) == pythonExtension }

const pythonExtension = ".py"

// Program returns the path of the program that is built from the source in dir, or of the script in dir. If the
// folder's registry.json runs exactly one program of the folder, it gives the name. If registry.json gives no name, the
// name is the last element of the module's path. Without a module, the program is the only executable script, or else
// has the name of the folder.
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

// onlyScript returns the path of the only executable Python script in a folder. onlyScript returns "" if there is none
// or several.
func onlyScript(dir string) (script string) {
	entries, _ := os.ReadDir(dir) // an error is reported when the folder is opened
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

// registered returns the only program of the folder that its registry.json runs, or "". If the file is not valid, the
// run that reads it reports this.
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
