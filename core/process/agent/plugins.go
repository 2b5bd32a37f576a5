package agent

import (
	"fmt"
	"slices"
	"strings"

	"github.com/psbench/psbench/core/host/executable"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/internal/host"
	"github.com/psbench/psbench/internal/quote"
)

// sums returns the SHA-256 of each file that a plugin runs, in the order of the plugin's command. The built-in plugin
// has none, because core and agents compare their psbench binaries when they meet.
func sums(p registry.Plugin) ([]string, error) {
	if len(p.Command) == 0 {
		return nil, nil
	}
	files, err := executable.Files(p.Command)
	if err != nil {
		return nil, fmt.Errorf("plugin %s cannot be read: %w", p.Name, err)
	}
	var list []string
	for _, f := range files {
		list = append(list, f.SHA256)
	}
	return list, nil
}

// compare returns an error if a plugin's files differ from the files on the core's host.
func compare(p registry.Plugin, core []string) error {
	here, err := sums(p)
	if err != nil {
		return err
	}
	if !slices.Equal(here, core) {
		return fmt.Errorf(
			"plugin %s differs from the one on the core's host: SHA-256 %s and %s; give all hosts the same files",
			p.Name, begin(here), begin(core))
	}
	return nil
}

// begin abbreviates checksums for an error message.
func begin(sums []string) string {
	if len(sums) == 0 {
		return "none"
	}
	var words []string
	for _, s := range sums {
		words = append(words, fmt.Sprintf("%.12s", s))
	}
	return strings.Join(words, " ")
}

// variables lists the environment variables that the core may set for a process.
var variables = []string{host.CUDADeviceVariable, "GOMAXPROCS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"}

// allowed returns an error for all other variables, because some of them could make a program run another program.
func allowed(env []string) error {
	for _, pair := range env {
		name, _, _ := strings.Cut(pair, "=")
		if !slices.Contains(variables, name) {
			return fmt.Errorf("the variable %s is not one that a core gives to a process", quote.String(name))
		}
	}
	return nil
}
