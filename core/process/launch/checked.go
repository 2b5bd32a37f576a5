package launch

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/psbench/psbench/core/host/executable"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/internal/quote"
)

// checked is a plugin's program whose SHA-256 is in the registry. A path may point to another file at any time, so the
// program is opened once. The opened file is hashed, and the same open file is run. Two gaps remain: the kernel passes
// a script to its interpreter by path, and a file may be written between its hash and its start. Therefore all files
// are hashed again after the process has begun. A running program cannot be written.
type checked struct {
	plugin registry.Plugin
	file   *os.File
	script bool // the program begins with #!
	// beside lists, with checksums, the other files of the command: files that the program reads, and the program's
	// interpreter.
	beside []executable.File
}

// Unchanged returns an error if psbench would now refuse the plugin's program. psbench refuses a program if the program
// or a file that it runs is missing, differs from the registry, or can be changed by other users.
func Unchanged(plugin registry.Plugin) error {
	if len(plugin.Command) == 0 {
		return nil
	}
	c, err := checkProgram(exec.Command(plugin.Command[0], plugin.Command[1:]...), plugin) // #nosec G204 -- which is not started
	if c != nil {
		c.close()
	}
	return err
}

// checkProgram compares the program of command with the registry's checksum, and makes command run the file that was
// compared. If the registry has no checksum, checkProgram returns nil.
func checkProgram(command *exec.Cmd, plugin registry.Plugin) (*checked, error) {
	if plugin.SHA256 == "" {
		return nil, nil
	}
	if sum, err := hex.DecodeString(plugin.SHA256); err != nil || len(sum) != sha256.Size {
		return nil, fmt.Errorf("plugin %s: sha256 %q is not a hexadecimal number of %d digits", plugin.Name,
			plugin.SHA256, 2*sha256.Size)
	}
	c := &checked{plugin: plugin}
	var err error
	if c.file, err = executable.Open(command.Path); err != nil {
		return nil, c.unreadable(command.Path, err)
	}
	if err := c.inspect(command); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (c *checked) inspect(command *exec.Cmd) error {
	if c.plugin.User {
		if err := c.guard(command.Path); err != nil {
			return err
		}
	}
	if err := c.compare(c.file, command.Path); err != nil {
		return err
	}
	if err := c.compareBeside(command); err != nil {
		return err
	}
	mark := make([]byte, 2)
	_, _ = c.file.ReadAt(mark, 0) // for a file that is too short, the kernel reports the error
	if c.script = string(mark) == "#!"; c.script {
		return nil
	}
	command.ExtraFiles = append(command.ExtraFiles, c.file)
	command.Path = fmt.Sprintf("/proc/self/fd/%d", 2+len(command.ExtraFiles)) // path in the child process
	return nil
}

// compareBeside records the checksums of the other files. compareBeside compares those files that the registry lists.
func (c *checked) compareBeside(command *exec.Cmd) error {
	paths, err := c.pathsBeside(command)
	if err != nil {
		return c.unreadable(command.Path, err)
	}
	for _, path := range paths {
		sum, err := executable.SumOf(path)
		if err != nil {
			return c.unreadable(path, err)
		}
		c.beside = append(c.beside, executable.File{Path: path, SHA256: sum})
		want, known := c.plugin.Files[path]
		switch {
		case known && want != sum:
			return c.changed(path, sum, want)
		case !known && c.plugin.User:
			return fmt.Errorf("plugin %s: %s runs %s, with the sha256 %s, unlike when it was added%s",
				c.plugin.Name, command.Path, path, sum, c.remedy())
		case c.plugin.User:
			err = c.guard(path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// pathsBeside returns the other files that must not change. A plugin in the user's registry has all files of its
// command checked. The interpreter of such a plugin counts as changed even if only PATH or a symbolic link has changed.
// For other registries, only the listed files and the first argument that names a file are checked.
func (c *checked) pathsBeside(command *exec.Cmd) ([]string, error) {
	if c.plugin.User {
		paths, err := executable.Paths(append([]string{command.Path}, command.Args[1:]...))
		if err != nil {
			return nil, err
		}
		return paths[1:], nil
	}
	paths := slices.Sorted(maps.Keys(c.plugin.Files))
	if i := slices.IndexFunc(command.Args[1:], executable.NamesFile); i >= 0 {
		paths = append(paths, command.Args[1+i])
	}
	return paths, nil
}

// guard returns an error if other users could change the file at path.
func (c *checked) guard(path string) error {
	resolved, err := executable.Resolve(path)
	if err == nil {
		err = executable.Guard(resolved)
	}
	if err != nil {
		return fmt.Errorf("plugin %s: %w", c.plugin.Name, err)
	}
	return nil
}

// again hashes everything again, and returns an error if a file has changed since the first check.
func (c *checked) again() error {
	if c == nil {
		return nil
	}
	file, path := c.file, c.file.Name()
	if c.script {
		var err error
		if file, err = executable.Open(path); err != nil {
			return c.unreadable(path, err)
		}
		defer func() { _ = file.Close() }()
	}
	if err := c.compare(file, path); err != nil {
		return fmt.Errorf("%w, now that it runs: it was changed while it started", err)
	}
	for _, f := range c.beside {
		if sum, err := executable.SumOf(f.Path); err != nil || sum != f.SHA256 {
			return fmt.Errorf("plugin %s: %s was changed while the plugin started", c.plugin.Name, f.Path)
		}
	}
	return nil
}

// compare compares the checksum of an open file with the registry. path is where the file was opened.
func (c *checked) compare(file *os.File, path string) error {
	sum, err := executable.Sum(file)
	if err != nil {
		return c.unreadable(path, err)
	}
	if sum != c.plugin.SHA256 {
		return c.changed(path, sum, c.plugin.SHA256)
	}
	return nil
}

func (c *checked) changed(path, sum, want string) error {
	return fmt.Errorf("plugin %s: %s does not have the sha256 %s that the registry gives for it, but %s%s",
		c.plugin.Name, path, want, sum, c.remedy())
}

// remedy returns advice on how to accept the change. The advice is empty unless the user added the plugin.
func (c *checked) remedy() string {
	if !c.plugin.User {
		return ""
	}
	words := make([]string, len(c.plugin.Command))
	for i, word := range c.plugin.Command {
		words[i] = quote.Shell(word)
	}
	if len(words) > 1 {
		words[0] += " --"
	}
	return fmt.Sprintf("; if that is what you want to run: psbench plugin add %s", strings.Join(words, " "))
}

func (c *checked) unreadable(path string, err error) error {
	return fmt.Errorf("plugin %s: %s cannot be checked: %w", c.plugin.Name, path, err)
}

func (c *checked) close() {
	if c != nil {
		_ = c.file.Close()
	}
}
