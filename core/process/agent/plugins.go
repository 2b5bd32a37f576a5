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

// sums returns the SHA-256 of the files that a plugin runs, in the order of its command. The built-in plugin has
// none: core and agents compare their psbench when they meet.
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

// compare refuses a plugin whose files differ from those on the core's host.
func compare(p registry.Plugin, core []string) error {
	here, err := sums(p)
	if err != nil {
		return err
	}
	if !slices.Equal(here, core) {
		return fmt.Errorf(
			"plugin %s is another one here than on the core's host: SHA-256 %s and %s; give all hosts the same files",
			p.Name, begin(here), begin(core))
	}
	return nil
}

// begin shortens checksums for a sentence.
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

// variables are the variables that the core passes to a process.
var variables = []string{host.CUDADeviceVariable, "GOMAXPROCS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"}

// allowed refuses all other variables: they could make a program run another one.
func allowed(env []string) error {
	for _, pair := range env {
		name, _, _ := strings.Cut(pair, "=")
		if !slices.Contains(variables, name) {
			return fmt.Errorf("the variable %s is not one that a core gives to a process", quote.String(name))
		}
	}
	return nil
}
