package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/psbench/psbench/core/host/devices"
	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/core/plan/config/option"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/screen"
	"github.com/psbench/psbench/internal/spelling"
	"github.com/psbench/psbench/sdk"
)

func (a *app) listCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list [KIND|devices]",
		Short: "List kinds and keys, the settings of a kind, and CUDA devices",
		Long: `list shows the keys of every kind with the plugin that provides each. With a
kind it shows the keys of that kind and their settings, which --set kind.setting=value
changes. list devices shows the GPUs that CUDA ranks would run on.`,
		ValidArgs: append(kindNames(), devicesArgument),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("list takes one kind, but %s are given", quote.Message(strings.Join(args, " and ")))
			}
			c, reg, err := a.merge(cmd)
			if err != nil {
				return err
			}
			if len(args) == 0 {
				return a.print(func(p *screen.Page) error { return listItems(p, reg, registry.Kinds) })
			}
			if args[0] == devicesArgument {
				return a.listDevices(cmd, reg)
			}
			kind, err := parseKind(args[0])
			if err != nil {
				return err
			}
			return a.listKind(cmd, c, reg, kind)
		},
	}
	a.addFlags(cmd, "config", "registry", "no_user_registry", "model_config_path", "data_config_path")
	return cmd
}

func kindNames() []string {
	var names []string
	for _, kind := range registry.Kinds {
		names = append(names, string(kind))
	}
	return names
}

func parseKind(name string) (sdk.Kind, error) {
	kind := sdk.Kind(strings.ReplaceAll(name, "-", "_"))
	if slices.Contains(registry.Kinds, kind) {
		return kind, nil
	}
	return "", usagef("unknown kind %s%s", quote.String(name),
		spelling.Hint(name, append(kindNames(), devicesArgument), "kinds", "psbench list shows all"))
}

func listItems(p *screen.Page, reg *registry.Registry, kinds []sdk.Kind) error {
	var rows [][]string
	for _, kind := range kinds {
		for _, item := range reg.Items(kind) {
			rows = append(rows, []string{
				string(kind), item.Key, item.Plugin.Name, strings.Join(item.Aliases, ", "), item.Description,
			})
		}
	}
	return p.Grid([]screen.Column{
		screen.Left("kind"), screen.Left("key"), screen.Left("plugin").Yields(1), screen.Left("aliases").Yields(2),
		screen.Left("description"),
	}, rows, false)
}

// listKind shows the keys of a kind, the settings of each, and the ids of configurations. What psbench has built in
// comes at once, what other plugins say of their parts below it.
func (a *app) listKind(cmd *cobra.Command, c *config.Config, reg *registry.Registry, kind sdk.Kind) error {
	ids, err := c.ConfigurationIDs(kind)
	if err != nil {
		return err
	}
	var own, others []described
	for _, item := range reg.Items(kind) {
		if item.Plugin.Name == registry.Builtin {
			own = append(own, a.described(cmd.Context(), item, catalogue))
		} else {
			others = append(others, described{Item: item})
		}
	}
	err = a.print(func(p *screen.Page) error {
		if err := listItems(p, reg, []sdk.Kind{kind}); err != nil {
			return err
		}
		if err := listServices(p, kind, own); err != nil {
			return err
		}
		if len(ids) > 0 {
			p.Line(0, "")
			p.Line(2, fmt.Sprintf("Configurations, which --%s takes first: %s", kind, strings.Join(ids, ", ")))
		}
		return listSettings(p, kind, own)
	})
	if err != nil || len(others) == 0 {
		return err
	}
	if err := a.describeAll(cmd.Context(), others); err != nil {
		return err
	}
	return a.print(func(p *screen.Page) error {
		if err := listServices(p, kind, others); err != nil {
			return err
		}
		return listSettings(p, kind, others)
	})
}

// listSettings shows the settings of parts.
func listSettings(p *screen.Page, kind sdk.Kind, parts []described) error {
	var rows [][]string
	for _, d := range parts {
		for _, s := range d.part.Settings {
			rows = append(rows, []string{d.Key, s.Name, s.Type, shortened(string(s.Default)), s.Doc})
		}
	}
	if len(rows) == 0 {
		return nil
	}
	p.Line(0, "")
	p.Line(2, fmt.Sprintf("Settings, as in --set %s.%s=value:", kind, rows[0][1]))
	return p.Grid([]screen.Column{
		screen.Left("key"), screen.Left("setting"), screen.Left("type").Yields(1), screen.Left("default"),
		screen.Left("description"),
	}, rows, false)
}

// widestDefault is how many characters of a default are shown.
const widestDefault = 30

// shortened cuts a default, such as a long list, that would widen its column.
func shortened(value string) string {
	if len(value) <= widestDefault {
		return value
	}
	return value[:widestDefault-3] + "..."
}

// listServices shows what servers serve, what trainers need, and what trainers and
// models set by default.
func listServices(p *screen.Page, kind sdk.Kind, parts []described) error {
	const defaults = "flags that count where nobody gives another value"
	var columns []screen.Column
	var rows [][]string
	for _, d := range parts {
		if d.part.Key == "" { // it did not say
			continue
		}
		switch kind {
		case sdk.KindServer:
			columns = []screen.Column{screen.Left("key"), screen.Left("serves"), screen.Left("answers a trainer"),
				screen.Left("with")}
			rows = append(rows, []string{d.Key, string(d.part.Serves), answers(d.part), declared(d.part)})
		case sdk.KindHook:
			columns = []screen.Column{screen.Left("key"), screen.Left("leaves in a bucket")}
			rows = append(rows, []string{d.Key, declared(d.part)})
		case sdk.KindTrainer:
			columns = []screen.Column{screen.Left("key"), screen.Left("needs"), screen.Left(defaults)}
			rows = append(rows, []string{d.Key, string(d.part.Needs), defaultFlags(d.Item)})
		case sdk.KindModel:
			columns = []screen.Column{screen.Left("key"), screen.Left(defaults)}
			if len(d.Defaults) > 0 {
				rows = append(rows, []string{d.Key, defaultFlags(d.Item)})
			}
		}
	}
	if rows == nil {
		return nil
	}
	p.Line(0, "")
	return p.Grid(columns, rows, false)
}

// declared is what a hook or a server of gradients declares to answer.
func declared(part sdk.Part) string {
	switch {
	case part.Answers == sdk.AnswersOwn:
		return "what it says itself"
	case part.Answers == sdk.AnswersMean || part.Answers == sdk.AnswersSum:
		return "the " + string(part.Answers)
	case part.Answers != "":
		return string(part.Answers)
	case part.Kind == sdk.KindServer && part.Serves != sdk.ServiceGradients:
		return ""
	}
	return "it does not say"
}

// answers says when a server answers a trainer.
func answers(server sdk.Part) string {
	switch {
	case server.Serves == "": // it is not known
		return ""
	case server.Serves == sdk.ServiceTables:
		return "at once"
	case server.Quorum != "":
		return "when " + server.Quorum + " trainers have come"
	case server.Asynchronous:
		return "asynchronously, before all have come"
	default:
		return "when all have come"
	}
}

// defaultFlags are the defaults of a trainer or a model as flags, two a line.
func defaultFlags(item registry.Item) string {
	var text strings.Builder
	count := 0
	for _, o := range option.All() {
		value, ok := item.Defaults[o.Key]
		if !ok {
			continue
		}
		if count > 0 {
			text.WriteString([]string{"\n", " "}[count%2])
		}
		count++
		fmt.Fprintf(&text, "--%s %s", o.Flag(), cell(value))
	}
	return text.String()
}

// devicesArgument of list asks for the GPUs, in the place of a kind.
const devicesArgument = "devices"

// listDevices shows the GPUs of this machine, what the driver says of itself and what would compute on
// them. Without any it is an error that says why.
func (a *app) listDevices(cmd *cobra.Command, reg *registry.Registry) error {
	list, err := a.cuda.Devices(cmd.Context(), 0)
	if err != nil {
		return fmt.Errorf("no CUDA devices: %w", err)
	}
	plugin, err := a.cuda.Plugin(cmd.Context(), reg, result.Build())
	program := "none: " + fmt.Sprint(err)
	if err == nil {
		program = strings.Join(plugin.Command, " ")
	}
	return a.print(func(p *screen.Page) error {
		var rows [][]string
		for _, d := range list.Devices {
			rows = append(rows, []string{d.ID(), quote.Text(d.Name), strconv.FormatInt(d.MemoryMiB, 10), d.Capability,
				string(d.Mode), peers(list, d), d.UUID})
		}
		if err := p.Grid([]screen.Column{
			screen.Left("device"), screen.Left("name"), screen.Right("memory MiB"), screen.Left("compute capability"),
			screen.Left("mode"),
			screen.Left("reaches the memory of").Yields(1), screen.Left("UUID").Yields(2),
		}, rows, false); err != nil {
			return err
		}
		p.Line(0, "")
		field(p, "driver", "CUDA "+devices.Version(list.Driver))
		field(p, "MPS",
			map[bool]string{true: "used", false: "not used"}[list.MPS.Used]+": "+quote.Message(list.MPS.Known))
		if list.Visible != nil {
			field(p, "visible",
				"CUDA_VISIBLE_DEVICES is "+quote.String(*list.Visible)+
					": the driver hides all other devices, and numbers these from 0")
		}
		field(p, "program", quote.Message(program))
		if err := list.Check(len(list.Devices)); err != nil {
			field(p, "unfit", quote.Message(err.Error()))
		}
		return nil
	})
}

// peers are the devices whose memory one reaches.
func peers(list *devices.List, d devices.Device) string {
	var ids []string
	for _, p := range d.Peers {
		ids = append(ids, list.Devices[p].ID())
	}
	if ids == nil {
		return "its own"
	}
	return strings.Join(ids, ", ")
}
