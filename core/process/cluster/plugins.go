package cluster

import (
	"os"
	"slices"

	"github.com/psbench/psbench/core/host/executable"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/core/record/result"
)

// Plugins describes the programs of all processes. Call it before any process starts, because a program without a
// checksum in the registry may change during the run.
func Plugins[M member](members []M) (noted []result.Plugin) {
	for _, m := range members {
		plugin := m.base().Plugin
		if slices.ContainsFunc(noted, func(known result.Plugin) bool { return known.Name == plugin.Name }) {
			continue
		}
		p := result.Plugin{
			Name: plugin.Name, Registry: plugin.File, Command: plugin.Command,
			SHA256: plugin.SHA256, Checked: plugin.SHA256 != "", Files: plugin.Files,
		}
		if p.Name != registry.Builtin && !p.Checked {
			p.SHA256, p.Files = sums(p.Command)
		}
		noted = append(noted, p)
	}
	return noted
}

// sums returns the checksums of a command's program and of its other files. sums returns none if the command cannot
// run, because the start of the command will report the error.
func sums(command []string) (program string, beside map[string]string) {
	files, err := executable.Files(command)
	if err != nil {
		return "", nil
	}
	for _, f := range files[1:] {
		if beside == nil {
			beside = map[string]string{}
		}
		beside[f.Path] = f.SHA256
	}
	return files[0].SHA256, beside
}

// CompletePlugins adds the facts that are known only after the processes have run. If own is set, CompletePlugins also
// adds the checksum of psbench's own executable. That file cannot change while it runs, so its checksum is computed
// after the measurement.
func CompletePlugins[M member](noted []result.Plugin, members []M, own bool) {
	for i := range noted {
		p := &noted[i]
		for _, m := range members {
			if b := m.base(); b.Plugin.Name == p.Name && b.Process != nil && p.Contract == "" {
				p.Contract = b.Contract()
			}
		}
		if p.Name == registry.Builtin && own {
			path, _ := os.Executable()
			p.Command = []string{path}
			p.SHA256, _ = executable.SumOf("/proc/self/exe")
		}
	}
}
