package run

import (
	"os"
	"slices"

	"github.com/psbench/psbench/core/executable"
	"github.com/psbench/psbench/core/registry"
	"github.com/psbench/psbench/core/result"
)

// notePlugins notes the programs of the run before any of them starts: a program whose
// checksum the registry does not give may be another one at the end.
func (r *run) notePlugins() {
	for _, p := range r.processes.all {
		if slices.ContainsFunc(r.result.Plugins, func(known result.Plugin) bool { return known.Name == p.Plugin.Name }) {
			continue
		}
		noted := result.Plugin{
			Name: p.Plugin.Name, Registry: p.Plugin.File, Command: p.Plugin.Command,
			SHA256: p.Plugin.SHA256, Checked: p.Plugin.SHA256 != "", Files: p.Plugin.Files,
		}
		if noted.Name != registry.Builtin && !noted.Checked {
			noted.SHA256, noted.Files = sums(noted.Command)
		}
		r.result.Plugins = append(r.result.Plugins, noted)
	}
}

// sums are the checksums of a command's program and of what it runs beside it; none of a
// command that cannot run, which its start will say.
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

// completePlugins adds what is known once they ran. psbench's own executable stays what it
// was for as long as it runs, so that its checksum can wait until nothing is measured.
func (r *run) completePlugins() {
	for i := range r.result.Plugins {
		noted := &r.result.Plugins[i]
		for _, p := range r.processes.all {
			if p.Plugin.Name == noted.Name && p.Process != nil && noted.Contract == "" {
				noted.Contract = p.Contract()
			}
		}
		if noted.Name == registry.Builtin && !r.o.Summarize { // nobody looks at that of a comparison
			path, _ := os.Executable()
			noted.Command = []string{path}
			noted.SHA256, _ = executable.SumOf("/proc/self/exe")
		}
	}
}
