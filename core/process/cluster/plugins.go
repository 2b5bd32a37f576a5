package cluster

import (
	"os"
	"slices"

	"github.com/psbench/psbench/core/host/executable"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/core/record/result"
)

// Plugins are the programs of some processes, noted before any of them starts: a program whose
// checksum the registry does not give may be another one at the end.
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

// CompletePlugins adds what is known once the processes ran. psbench's own executable stays what it
// was for as long as it runs, so that its checksum, of which some have no use, can wait until
// nothing is measured.
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
