package listing

import (
	"path/filepath"
	"strings"

	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/screen"
	"github.com/psbench/psbench/sdk"
)

// Plugins writes a block for each registered plugin that loaded, except psbench's own.
func Plugins(p *screen.Page, reg *registry.Registry) {
	first := true
	for _, plugin := range reg.Plugins() {
		if plugin.Name == registry.Builtin || plugin.Fault != nil {
			continue
		}
		if !first {
			p.Line(0, "")
		}
		first = false
		identity(p, plugin)
		fieldList(p, "keys", keysOf(reg, plugin))
	}
	if first {
		p.Text("No plugin is registered beside psbench's own.")
	}
}

// keysOf names the parts of a plugin by kind and key.
func keysOf(reg *registry.Registry, plugin registry.Plugin) []string {
	var keys []string
	for _, kind := range registry.Kinds {
		for _, item := range reg.Items(kind) {
			if item.Plugin.Name == plugin.Name {
				keys = append(keys, string(kind)+" "+item.Key)
			}
		}
	}
	return keys
}

// Added writes the plugin that was registered under the given path, and its parts. For a symbolic link it also writes
// the target, because psbench runs that file.
func Added(p *screen.Page, given string, plugin registry.Plugin, parts []sdk.Part) {
	identity(p, plugin)
	if absolute, err := filepath.Abs(given); err == nil && absolute != plugin.Command[0] {
		field(p, "given as", quote.Word(given)+", which leads there")
	}
	keys := make([]string, len(parts))
	for i, part := range parts {
		keys[i] = string(part.Kind) + " " + part.Key
	}
	fieldList(p, "keys", keys)
}

// identity writes the command that starts a plugin, and the checksums that identify it.
func identity(p *screen.Page, plugin registry.Plugin) {
	field(p, "plugin", plugin.Name)
	field(p, "command", quoted(plugin.Command))
	field(p, "sha256", plugin.SHA256)
	for _, path := range plugin.FilePaths() {
		field(p, "beside", quote.Word(path))
		field(p, "sha256", plugin.Files[path])
	}
	field(p, "contract", plugin.Contract)
	fieldList(p, "includes", plugin.Includes)
	if plugin.File != "" {
		field(p, "registry", quote.Word(plugin.File))
	}
}

// quoted returns a command as a line.
func quoted(command []string) string {
	words := make([]string, len(command))
	for i, word := range command {
		words[i] = quote.Word(word)
	}
	return strings.Join(words, " ")
}
