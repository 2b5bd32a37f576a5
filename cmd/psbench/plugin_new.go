package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/psbench/psbench/core/author/scaffold"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/spelling"
)

func (a *app) pluginNewCommand() *cobra.Command {
	var dir, clone, lang string
	cmd := &cobra.Command{
		Use:   "new KIND NAME",
		Short: "Write a working plugin to start from",
		Long: `new writes the project of a plugin with the smallest sensible part of a kind:
its source, a test, a page that says how to try it, a registry file and, in Go,
go.mod and go.sum. The kinds are server, table-server, hook, criterion, model,
data and trainer; table-server and trainer are in Go alone. NAME is the key of
the part, the program and, unless --dir is given, the folder. Existing
files are left alone.`,
		Example: lines(
			"psbench plugin new hook topk",
			"psbench plugin new hook topk --lang python",
		),
		ValidArgs: projectKinds(),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usagef("psbench plugin new takes a kind and a name, as in: psbench plugin new hook topk")
			}
			kind, err := parseProjectKind(args[0])
			if err != nil {
				return err
			}
			language, err := parseLanguage(lang)
			if err != nil {
				return err
			}
			if err := kind.In(language); err != nil {
				return err
			}
			if err := scaffold.CheckName(cmd.Context(), args[1], kind, language); err != nil {
				return err
			}
			_, reg, err := a.merge(cmd)
			if err != nil {
				return err
			}
			if err := unused(reg, kind, args[1]); err != nil {
				return err
			}
			if dir == "" {
				dir = args[1]
			}
			p := scaffold.Project{Kind: kind, Language: language, Name: args[1], Dir: dir}
			if language == scaffold.Go {
				if p.With, err = builtWith(clone); err != nil {
					return err
				}
			}
			return a.writeProject(p)
		},
	}
	a.addFlags(cmd, "registry", "no_user_registry")
	cmd.Flags().StringVar(&dir, "dir", "", "`folder` of the project, otherwise one of the name")
	cmd.Flags().StringVar(&lang, "lang", string(scaffold.Go), "`language` of the plugin: go or python")
	cmd.Flags().StringVar(&clone, "psbench", "", "`folder` of the clone of psbench that a plugin in Go is built with")
	_ = cmd.RegisterFlagCompletionFunc("lang", cobra.FixedCompletions(languages(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (a *app) writeProject(p scaffold.Project) error {
	paths, err := p.Write()
	if err != nil {
		return err
	}
	for _, path := range paths {
		printf(a.stdout, "%s\n", quote.Word(path))
	}
	does := "test, build and measure"
	if p.Language == scaffold.Python {
		does = "test and measure"
	}
	printf(a.stdout, "\nTo %s %s %s:\n\n  cd %s\n", does, p.Kind.Name, p.Name, quote.Shell(p.Dir))
	for _, line := range p.Try() {
		printf(a.stdout, "  %s\n", line)
	}
	return nil
}

func projectKinds() []string {
	var names []string
	for _, kind := range scaffold.Kinds {
		names = append(names, kind.Name)
	}
	return names
}

func parseProjectKind(name string) (scaffold.Kind, error) {
	for _, kind := range scaffold.Kinds {
		if kind.Name == strings.NewReplacer("_", "-", " ", "-").Replace(name) {
			return kind, nil
		}
	}
	return scaffold.Kind{}, usagef("unknown kind %s%s", quote.String(name),
		spelling.Hint(name, projectKinds(), "kinds", "psbench plugin new --help shows all"))
}

func languages() []string {
	var names []string
	for _, language := range scaffold.Languages {
		names = append(names, string(language))
	}
	return names
}

func parseLanguage(name string) (scaffold.Language, error) {
	if language := scaffold.Language(strings.ToLower(name)); slices.Contains(scaffold.Languages, language) {
		return language, nil
	}
	return "", usagef("--lang is %s but must be %s", quote.String(name), strings.Join(languages(), " or "))
}

// unused returns an error if a part of the kind, or a plugin, already has this name.
func unused(reg *registry.Registry, kind scaffold.Kind, name string) error {
	for _, item := range reg.Items(kind.Kind) {
		if item.Key == name || slices.Contains(item.Aliases, name) {
			return fmt.Errorf("there is a %s %s already, in %s: give the plugin another name", kind.Kind, name,
				item.File)
		}
	}
	for _, p := range reg.Plugins() {
		if p.Name == name {
			return fmt.Errorf("there is a plugin %s already: give this one another name", name)
		}
	}
	return nil
}

// builtWith returns the psbench module for a new project. The first choice is the clone given by --psbench. The
// second is the released version of this psbench. The last is the clone around this program.
func builtWith(clone string) (scaffold.Module, error) {
	if clone != "" {
		return scaffold.CloneAt(clone)
	}
	info, _ := debug.ReadBuildInfo()
	if released, is := scaffold.Released(info); is {
		return released, nil
	}
	executable, err := os.Executable()
	if err != nil {
		return scaffold.Module{}, err
	}
	if executable, err = filepath.EvalSymlinks(executable); err != nil {
		return scaffold.Module{}, err
	}
	around, found, err := scaffold.CloneAround(executable)
	if err == nil && !found {
		err =
			fmt.Errorf("this psbench, %s, is neither a release nor in a clone: name the clone to build plugins with by --psbench FOLDER",
				quote.Word(executable))
	}
	return around, err
}
