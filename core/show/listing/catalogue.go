package listing

import (
	"fmt"
	"strings"

	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/core/plan/config/option"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/internal/screen"
	"github.com/psbench/psbench/sdk"
)

// Items writes a table of the registry's items of the given kinds.
func Items(p *screen.Page, reg *registry.Registry, kinds ...sdk.Kind) error {
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

// IDs writes one line of configuration IDs, such as the IDs of models, or nothing if there are none.
func IDs(p *screen.Page, kind sdk.Kind, ids []string) {
	if len(ids) == 0 {
		return
	}
	p.Line(0, "")
	p.Line(2, fmt.Sprintf("Configurations, which --%s takes first: %s", kind, strings.Join(ids, ", ")))
}

// Services writes a blank line and then a table of what parts of a kind declare. Servers declare what they serve and
// when they answer. Hooks declare what they leave in a bucket. Trainers declare what they need. Trainers and models
// declare their default flags. Parts whose plugin did not answer are left out. If no row remains, Services writes
// nothing.
func Services(p *screen.Page, kind sdk.Kind, parts []config.Described) error {
	const defaults = "default flags"
	var columns []screen.Column
	var rows [][]string
	for _, d := range parts {
		if d.Part.Key == "" {
			continue
		}
		switch kind {
		case sdk.KindServer:
			columns = []screen.Column{screen.Left("key"), screen.Left("serves"), screen.Left("answers a trainer"),
				screen.Left("with")}
			rows = append(rows, []string{d.Key, string(d.Part.Serves), answers(d.Part), declared(d.Part)})
		case sdk.KindHook:
			columns = []screen.Column{screen.Left("key"), screen.Left("leaves in a bucket")}
			rows = append(rows, []string{d.Key, declared(d.Part)})
		case sdk.KindTrainer:
			columns = []screen.Column{screen.Left("key"), screen.Left("needs"), screen.Left(defaults)}
			rows = append(rows, []string{d.Key, string(d.Part.Needs), defaultFlags(d.Item)})
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

// declared returns what a hook leaves in a bucket, or what a gradient server answers, according to the part's
// declaration.
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

// answers states when a server answers a trainer; "" if the server's service is unknown.
func answers(server sdk.Part) string {
	switch {
	case server.Serves == "":
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

// defaultFlags returns the defaults of a trainer or a model as flags, two per line.
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
