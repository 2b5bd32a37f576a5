package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/psbench/psbench"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/core/process/launch"
	"github.com/psbench/psbench/internal/interrupt"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/screen"
	"github.com/psbench/psbench/plugins"
	"github.com/psbench/psbench/sdk"
)

func (a *app) pluginAddCommand() *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:   "add PATH [-- ARGUMENT...]",
		Short: "Register a plugin, or accept that it has changed",
		Long: `add starts the plugin at PATH, asks it for its parts, and writes its command,
its checksum and its keys into your registry, registry.json in the folder
psbench of $XDG_CONFIG_HOME (~/.config), which every run reads. From then on
the plugin runs only as long as neither the program nor what it is run by has
changed; to add it again accepts a change.`,
		Example: lines(
			"psbench plugin add ./median",
			"psbench plugin add ./median --name trial -- --verbose",
		),
		Args: func(cmd *cobra.Command, args []string) error {
			if before, _ := atDash(cmd, args); len(before) != 1 {
				return usagef("plugin add takes one program, but %s given; arguments of the program follow --",
					given(before))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := a.userRegistry()
			if err != nil {
				return err
			}
			defer interrupt.Hold(cmd.Context())()
			plugin, parts, err := registry.Add(cmd.Context(), path, psbench.Registry,
				registry.Addition{Name: name, Command: args, Ask: launch.Describe, Internal: plugins.Internal()})
			if err != nil {
				return err
			}
			return a.print(func(p *screen.Page) error { return added(p, args[0], plugin, parts) })
		},
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault),
	}
	cmd.Flags().StringVar(&name, "name", "", "name of the plugin; by default that of the program")
	return cmd
}

// userRegistry is the path of the user's registry.
func (a *app) userRegistry() (string, error) {
	path := registry.UserFile(a.environ)
	if path == "" {
		return "", errors.New("there is no folder for your registry: set HOME or XDG_CONFIG_HOME to an absolute path")
	}
	return path, nil
}

// added says what was registered. A link is shown with where it leads, which is what runs.
func added(p *screen.Page, given string, plugin registry.Plugin, parts []sdk.Part) error {
	identity(p, plugin)
	if absolute, err := filepath.Abs(given); err == nil && absolute != plugin.Command[0] {
		field(p, "given as", quote.Word(given)+", which leads there")
	}
	keys := make([]string, len(parts))
	for i, part := range parts {
		keys[i] = string(part.Kind) + " " + part.Key
	}
	field(p, "keys", strings.Join(keys, ", "))
	return nil
}

// identity says what a plugin is: what runs, and by what it is known again.
func identity(p *screen.Page, plugin registry.Plugin) {
	field(p, "plugin", plugin.Name)
	field(p, "command", quoted(plugin.Command))
	field(p, "sha256", plugin.SHA256)
	for _, path := range plugin.FilePaths() {
		field(p, "beside", quote.Word(path))
		field(p, "sha256", plugin.Files[path])
	}
	field(p, "contract", plugin.Contract)
	field(p, "includes", strings.Join(plugin.Includes, ", "))
	if plugin.File != "" {
		field(p, "registry", quote.Word(plugin.File))
	}
}

// field writes one labelled line, none without a text.
func field(p *screen.Page, label, text string) {
	if text != "" {
		p.Line(10, fmt.Sprintf("%-9s %s", label, text))
	}
}

// quoted is a command as a line.
func quoted(command []string) string {
	words := make([]string, len(command))
	for i, word := range command {
		words[i] = quote.Word(word)
	}
	return strings.Join(words, " ")
}
