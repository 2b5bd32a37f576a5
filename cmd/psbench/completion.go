package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/psbench/psbench/core/plan/config/option"
	"github.com/psbench/psbench/sdk"
)

// addCompletion makes the shell complete the values of a command's flags: registry keys, configuration IDs, choices
// and settings.
func (a *app) addCompletion(cmd *cobra.Command) {
	options := map[string]option.Option{}
	for _, o := range option.All() {
		options[o.Flag()] = o
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		o, ok := options[f.Name]
		if !ok || o.Type == option.Bool || o.Group == "files" || o.Key == "json" || o.Key == "out" ||
			o.Key == "filestore" {
			return // the shell completes file names
		}
		_ = cmd.RegisterFlagCompletionFunc(f.Name,
			func(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
				return a.completions(cmd, o, begun)
			})
	})
}

func (a *app) completions(cmd *cobra.Command, o option.Option, begun string) ([]string, cobra.ShellCompDirective) {
	switch {
	case len(o.Enum) > 0:
		return o.Enum, cobra.ShellCompDirectiveNoFileComp
	case o.Kind != "":
		return a.names(cmd, o.Kind), cobra.ShellCompDirectiveNoFileComp
	case o.Type == option.Settings:
		return a.settingNames(cmd, begun), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	default:
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

// names returns the possible values of the option for a kind, with descriptions.
func (a *app) names(cmd *cobra.Command, kind sdk.Kind) []string {
	c, reg, err := a.merge(cmd)
	if err != nil {
		cobra.CompErrorln(err.Error())
		return nil
	}
	names, err := c.ConfigurationIDs(kind)
	if err != nil {
		cobra.CompErrorln(err.Error())
		return nil
	}
	for _, item := range reg.Items(kind) {
		names = append(names, item.Key+"\t"+item.Description)
	}
	return names
}

// settingNames returns the settings of the chosen parts that begin with begun, in the form that --set expects.
func (a *app) settingNames(cmd *cobra.Command, begun string) []string {
	c, reg, err := a.merge(cmd)
	if err != nil {
		cobra.CompErrorln(err.Error())
		return nil
	}
	parts, err := c.Chosen(cmd.Context(), reg, catalogue)
	if err != nil {
		cobra.CompErrorln(err.Error())
		return nil
	}
	var names []string
	for _, p := range parts {
		for _, s := range p.Settings {
			if name := string(p.Kind) + "." + s.Name + "="; strings.HasPrefix(name, begun) {
				names = append(names, name+"\t"+s.Doc)
			}
		}
	}
	return names
}
