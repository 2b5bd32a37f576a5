package listing

import (
	"fmt"

	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/screen"
	"github.com/psbench/psbench/sdk"
)

// Settings writes a blank line and then a table of the settings of parts of a kind, or nothing if there are no
// settings.
func Settings(p *screen.Page, kind sdk.Kind, parts []config.Described) error {
	var rows [][]string
	for _, d := range parts {
		for _, s := range d.Part.Settings {
			rows = append(rows, append([]string{d.Key}, settingRow(s)...))
		}
	}
	if len(rows) == 0 {
		return nil
	}
	settingsHeading(p, kind, rows[0][1])
	return p.Grid(append([]screen.Column{screen.Left("key")}, settingColumns()...), rows, false)
}

// Parts writes a block for each part: its plugin, its declarations and its settings.
func Parts(p *screen.Page, parts []config.Described) error {
	for i, d := range parts {
		if i > 0 {
			p.Line(0, "")
		}
		if err := onePart(p, d); err != nil {
			return err
		}
	}
	return nil
}

func onePart(p *screen.Page, d config.Described) error {
	field(p, "key", string(d.Kind)+" "+d.Key)
	fieldList(p, "aliases", d.Aliases)
	field(p, "about", quote.Message(d.Description))
	fieldList(p, "declares", declarations(d.Part))
	identity(p, d.Plugin)
	if d.Part.Kind == sdk.KindHook || d.Part.Kind == sdk.KindServer && d.Part.Serves == sdk.ServiceGradients {
		field(p, "answers", declared(d.Part))
	}
	var rows [][]string
	for _, s := range d.Part.Settings {
		rows = append(rows, settingRow(s))
	}
	if rows == nil {
		return nil
	}
	settingsHeading(p, d.Kind, rows[0][0])
	return p.Grid(settingColumns(), rows, false)
}

// settingsHeading writes the line above a table of settings. It shows one setting as an example.
func settingsHeading(p *screen.Page, kind sdk.Kind, example string) {
	p.Line(0, "")
	p.Line(2, fmt.Sprintf("Settings, as in --set %s.%s=value:", kind, example))
}

func settingColumns() []screen.Column {
	return []screen.Column{
		screen.Left("setting"), screen.Left("type").Yields(1), screen.Left("default"), screen.Left("description"),
	}
}

func settingRow(s sdk.Setting) []string {
	return []string{s.Name, s.Type, shortened(string(s.Default)), s.Doc}
}

// shortened cuts a long default, such as a list, so its column stays narrow.
func shortened(value string) string {
	const widest = 30
	if len(value) <= widest {
		return value
	}
	return value[:widest-3] + "..."
}

// declarations returns what a model or hook declares about itself, apart from its answers.
func declarations(part sdk.Part) (list []string) {
	if part.Stochastic {
		list = append(list, "stochastic")
	}
	if part.SmallestBatch > 1 {
		list = append(list, fmt.Sprintf("a smallest batch of %d samples", part.SmallestBatch))
	}
	if part.Plans {
		list = append(list, "a traffic plan")
	}
	return list
}
