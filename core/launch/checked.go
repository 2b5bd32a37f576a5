package launch

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"

	"github.com/psbench/psbench/core/registry"
)

// checked is a program for which the registry gives a SHA-256. What a path leads to
// may change at any time, so the program is opened once, and the open file is what is
// hashed and what runs. The kernel hands only the path of a script to its interpreter,
// though, and a file that was hashed may be written to before it runs (and no more
// while it does): so everything is hashed again once the process has begun.
type checked struct {
	plugin registry.Plugin
	file   *os.File
	script bool   // the program begins with #!
	text   hashed // the first argument that is a file: the script of an interpreter
}

// hashed is a file and the SHA-256 that it had; without a path there is none.
type hashed struct {
	path string
	sum  [sha256.Size]byte
}

// checkProgram compares the program of command with the sum that the registry gives, and has
// command run what was compared. Without a sum it gives nil.
func checkProgram(command *exec.Cmd, plugin registry.Plugin) (*checked, error) {
	if plugin.SHA256 == "" {
		return nil, nil
	}
	if sum, err := hex.DecodeString(plugin.SHA256); err != nil || len(sum) != sha256.Size {
		return nil, fmt.Errorf("plugin %s: sha256 %q is not a hexadecimal number of %d digits", plugin.Name, plugin.SHA256, 2*sha256.Size)
	}
	c := &checked{plugin: plugin}
	var err error
	if c.file, err = openRegular(command.Path); err != nil {
		return nil, c.unreadable(command.Path, err)
	}
	if err := c.inspect(command); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (c *checked) inspect(command *exec.Cmd) error {
	if err := c.compare(c.file, command.Path); err != nil {
		return err
	}
	for _, argument := range command.Args[1:] {
		if sum, err := sumOfPath(argument); err == nil {
			c.text = hashed{argument, sum}
			break
		}
	}
	mark := make([]byte, 2)
	_, _ = c.file.ReadAt(mark, 0) // the kernel says what is wrong with a shorter file
	if c.script = string(mark) == "#!"; c.script {
		return nil
	}
	command.ExtraFiles = append(command.ExtraFiles, c.file)
	command.Path = fmt.Sprintf("/proc/self/fd/%d", 2+len(command.ExtraFiles)) // of the child
	return nil
}

// again reports what has changed since the check.
func (c *checked) again() error {
	if c == nil {
		return nil
	}
	file, path := c.file, c.file.Name()
	if c.script {
		var err error
		if file, err = openRegular(path); err != nil {
			return c.unreadable(path, err)
		}
		defer func() { _ = file.Close() }()
	}
	if err := c.compare(file, path); err != nil {
		return fmt.Errorf("%w, now that it runs: it was changed while it started", err)
	}
	if c.text.path == "" {
		return nil
	}
	if sum, err := sumOfPath(c.text.path); err != nil || sum != c.text.sum {
		return fmt.Errorf("plugin %s: %s was changed while the plugin started", c.plugin.Name, c.text.path)
	}
	return nil
}

// compare compares the contents of file, which is or was at path, with the registry.
func (c *checked) compare(file *os.File, path string) error {
	sum, err := sumOf(file)
	if err != nil {
		return c.unreadable(path, err)
	}
	if want, _ := hex.DecodeString(c.plugin.SHA256); string(sum[:]) != string(want) {
		return fmt.Errorf("plugin %s: %s does not have the sha256 %s that the registry gives for it", c.plugin.Name, path, c.plugin.SHA256)
	}
	return nil
}

func (c *checked) unreadable(path string, err error) error {
	return fmt.Errorf("plugin %s: %s cannot be checked: %w", c.plugin.Name, path, err)
}

func (c *checked) close() {
	if c != nil {
		_ = c.file.Close()
	}
}

// openRegular opens a file that can be read to its end: a pipe might have none.
func openRegular(path string) (*os.File, error) {
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

func sumOfPath(path string) (sum [sha256.Size]byte, err error) {
	file, err := openRegular(path)
	if err != nil {
		return sum, err
	}
	defer func() { _ = file.Close() }()
	return sumOf(file)
}

// sumOf is the SHA-256 of a file, whatever was read of it before.
func sumOf(file *os.File) (sum [sha256.Size]byte, err error) {
	hash := sha256.New()
	if _, err := io.Copy(hash, io.NewSectionReader(file, 0, 1<<62)); err != nil {
		return sum, err
	}
	return [sha256.Size]byte(hash.Sum(nil)), nil
}
