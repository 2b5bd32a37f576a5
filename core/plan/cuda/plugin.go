package cuda

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/psbench/psbench/core/host/executable"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/internal/quote"
)

// PluginName is the name of the CUDA plugin in registries. Program is the name of its executable.
const (
	PluginName = "cuda"
	Program    = "psbench-cuda"
)

// versionPatience limits how long the program may take to print its version.
const versionPatience = 30 * time.Second

// checkBuild returns an error if the program of a plugin comes from another build.
func checkBuild(ctx context.Context, p registry.Plugin, build string) error {
	program := quote.Word(p.Command[0])
	out, err := executable.Output(ctx, versionPatience, p.Command[0], append(slices.Clone(p.Command[1:]), "version")...)
	if err != nil {
		return fmt.Errorf("%s, asked for its version, %w", program, err)
	}
	theirs, ok := versionIn(string(out))
	if !ok {
		return fmt.Errorf("%s is no %s: asked for its version it says %s",
			program, Program, quote.String(strings.TrimSpace(string(out))))
	}
	if theirs != build {
		return fmt.Errorf("%s is from another build than this psbench: it is %s, and this is %s: build both from one source, with make build cuda",
			program, quote.Text(theirs), build)
	}
	return nil
}

// versionIn finds the line of the text that names a build, and returns this build.
func versionIn(text string) (string, bool) {
	for line := range strings.Lines(text) { // libraries may print other lines first
		if build, ok := strings.CutPrefix(line, Program+" "); ok {
			return strings.TrimSpace(build), true
		}
	}
	return "", false
}

// locate returns the plugin named cuda in reg, or else the program in the folder of this executable.
func locate(reg *registry.Registry) (registry.Plugin, error) {
	for _, p := range reg.Plugins() {
		if p.Name == PluginName {
			p.Includes = []string{registry.Builtin}
			return p, p.Fault
		}
	}
	executable, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return registry.Plugin{}, fmt.Errorf("%s cannot be looked for beside psbench: %w", Program, err)
	}
	path, err := beside(executable)
	return registry.Plugin{Name: PluginName, Command: []string{path}, Includes: []string{registry.Builtin}}, err
}

// beside returns the path of the program in the folder of an executable.
func beside(executable string) (string, error) {
	path := filepath.Join(filepath.Dir(executable), Program)
	switch _, err := exec.LookPath(path); {
	case errors.Is(err, fs.ErrNotExist):
		return path, fmt.Errorf("there is no %s beside psbench (looked for %s): build it with make cuda",
			Program, quote.Word(path))
	case errors.Is(err, fs.ErrPermission):
		return path, fmt.Errorf("%s is not executable: chmod +x makes it a program", quote.Word(path))
	case err != nil:
		return path, fmt.Errorf("%s is no program: build it with make cuda", quote.Word(path))
	default:
		return path, nil
	}
}
