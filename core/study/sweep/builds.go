package sweep

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/psbench/psbench/core/host/executable"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/internal/quote"
)

// builds finds the programs of cells. It reads each file only once to compute the checksum.
type builds struct {
	own      string
	binaries []Binary
	sums     map[string]string   // checksums by path
	byName   map[string]string   // program paths by value of the build axis
	plugins  map[string][]string // files of a plugin by its command
}

func newBuilds(own string) (*builds, error) {
	b := &builds{own: own, sums: map[string]string{}, byName: map[string]string{}, plugins: map[string][]string{}}
	return b, b.add("psbench", own)
}

func (b *builds) add(name, path string) error {
	if b.sums[path] != "" {
		return nil
	}
	sum, err := executable.SumOf(path)
	if err != nil {
		return fmt.Errorf("%s cannot be read: %w", name, err)
	}
	b.sums[path] = sum
	b.binaries = append(b.binaries, Binary{name, path, sum})
	return nil
}

// find resolves a value of the build axis. If the value is a psbench, find returns the path of that program. If the
// value is a registry file, find returns the path of this psbench and the registry file.
func (b *builds) find(build string) (program, registryFile string, err error) {
	if strings.HasSuffix(build, ".json") {
		if !executable.IsFile(build) {
			return "", "", fmt.Errorf("build %s is no file: a build is a psbench, or a registry file of plugins",
				quote.Word(build))
		}
		return b.own, build, nil
	}
	if program, known := b.byName[build]; known {
		return program, "", nil
	}
	found, err := exec.LookPath(build)
	if errors.Is(err, exec.ErrNotFound) && executable.IsFile(build) {
		found, err = exec.LookPath("." + string(filepath.Separator) + build)
	}
	if err != nil && !errors.Is(err, exec.ErrDot) {
		return "", "",
			fmt.Errorf("build %s is no program that can be run: a build is a psbench, or a registry file of plugins",
				quote.Word(build))
	}
	if program, err = executable.Resolve(found); err != nil {
		return "", "", err
	}
	b.byName[build] = program
	return program, "", b.add("build "+filepath.Base(build), program)
}

// plugin returns the files that a plugin runs, or nil for psbench's own parts.
func (b *builds) plugin(p registry.Plugin) ([]string, error) {
	if p.Name == registry.Builtin {
		return nil, nil
	}
	key := fmt.Sprintf("%q", p.Command)
	if files, known := b.plugins[key]; known {
		return files, nil
	}
	files, err := executable.Paths(p.Command)
	if err != nil {
		return nil, fmt.Errorf("plugin %s: %w", p.Name, err)
	}
	for _, path := range files {
		if err := b.add("plugin "+p.Name+" "+filepath.Base(path), path); err != nil {
			return nil, err
		}
	}
	b.plugins[key] = files
	return files, nil
}
