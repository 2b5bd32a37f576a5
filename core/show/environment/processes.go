package environment

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/screen"
)

// Processes writes a table of the processes and, below it, the facts that their parts reported.
func Processes(w *screen.Page, r *result.Result) error {
	if len(r.Processes) == 0 {
		return nil
	}
	isolated := slices.ContainsFunc(r.Processes, func(p result.Process) bool { return p.BoundaryNS > 0 })
	onCUDA := slices.ContainsFunc(r.Processes, func(p result.Process) bool { return p.Device != "" })
	columns := []screen.Column{screen.Left("process"), screen.Left("kind").Yields(3), screen.Left("key"),
		screen.Left("plugin").Yields(4)}
	if onCUDA {
		columns = append(columns, screen.Left("device"))
	}
	columns = append(columns, screen.Right("pid").Yields(1), screen.Right("start ms").Yields(2),
		screen.Right("peak RSS MiB"))
	if isolated {
		columns = append(columns, screen.Right("boundary µs"))
	}
	var rows [][]string
	for _, p := range r.Processes {
		row := []string{p.Name, p.Kind, p.Key, p.Plugin}
		if onCUDA {
			row = append(row, cmp.Or(p.Device, "-"))
		}
		row = append(row, strconv.Itoa(p.PID), fixed(p.StartMS), fixed(p.RSSMiB))
		if isolated {
			row = append(row, boundary(p.BoundaryNS))
		}
		rows = append(rows, row)
	}
	if err := w.Table("what ran where", columns, rows); err != nil {
		return err
	}
	if isolated {
		text := "from the trainer to its isolated part"
		if slices.ContainsFunc(r.Processes, func(p result.Process) bool { return p.Kind == "part" }) {
			text = "to a part in its own process, from the process beside it"
		}
		w.Line(2, "boundary: the median cost of a no-op call "+text)
	}
	for _, line := range factLines(r.Processes) {
		w.Line(2, line)
	}
	for _, p := range r.Plugins {
		w.Line(2, Plugin(p))
	}
	return nil
}

// Plugin describes a loaded plugin: "plugin mine: /bin/mine, sha256 ..., contract 2.0, as mine.json has it".
func Plugin(p result.Plugin) string {
	parts := make([]string, len(p.Command))
	for i, word := range p.Command {
		parts[i] = quote.Word(word)
	}
	text := "plugin " + quote.Word(p.Name) + ": " + strings.Join(parts, " ")
	add := func(label, value string) {
		if value != "" {
			text += ", " + label + " " + quote.Word(value)
		}
	}
	add("sha256", p.SHA256)
	for _, path := range slices.Sorted(maps.Keys(p.Files)) {
		add("with", path)
		add("sha256", p.Files[path])
	}
	add("contract", p.Contract)
	switch {
	case p.Registry == "":
	case p.Checked:
		add("checked by", p.Registry)
	default:
		add("named by", p.Registry)
	}
	return text
}

// fixed returns a number of ms or MiB with one decimal.
func fixed(x float64) string { return strconv.FormatFloat(x, 'f', 1, 64) }

func boundary(ns int64) string {
	if ns == 0 {
		return "-"
	}
	return fixed(float64(ns) / 1e3)
}

// factLines returns one line for each distinct set of facts, headed by all processes that reported it: "trainer0,
// trainer1: blas gonum, threads 1". The facts come from plugins, so they are quoted.
func factLines(processes []result.Process) []string {
	names := map[string][]string{}
	var order []string
	for _, p := range processes {
		facts := describe(p.Facts)
		if facts == "" {
			continue
		}
		if names[facts] == nil {
			order = append(order, facts)
		}
		names[facts] = append(names[facts], p.Name)
	}
	lines := make([]string, len(order))
	for i, facts := range order {
		lines[i] = strings.Join(names[facts], ", ") + ": " + facts
	}
	return lines
}

func describe(facts map[string]string) string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(facts)) {
		parts = append(parts, quote.Text(strings.ReplaceAll(key, "_", " "))+" "+quote.Message(facts[key]))
	}
	return strings.Join(parts, ", ")
}
