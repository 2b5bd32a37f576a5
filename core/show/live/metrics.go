package live

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/psbench/psbench/core/show/view"
)

// metrics are a document and its progress in the text format of Prometheus, in its base units.
func metrics(d *view.Document, l view.Live) []byte {
	var e exposition
	e.family("psbench_build_info", "gauge", "The psbench that runs, always 1.")
	e.sample(1, label{"version", d.Psbench})
	e.family("psbench_runs_total", "counter", "Runs that have ended, by how.")
	e.sample(float64(l.Done), label{"state", "done"})
	e.sample(float64(l.Failed), label{"state", "failed"})
	e.family("psbench_runs_left", "gauge", "Runs that have not ended.")
	e.sample(float64(l.Left))
	e.family("psbench_elapsed_seconds", "gauge", "Time since the command began.")
	e.sample(l.Seconds)
	if l.SecondsLeft != nil {
		e.family("psbench_remaining_seconds", "gauge", "Time that the runs that are left are expected to take.")
		e.sample(*l.SecondsLeft)
	}
	if l.Running != nil {
		e.running(d, l.Running)
	}
	e.family("psbench_cell_runs", "gauge", "Runs of a cell that are done.")
	e.cells(d, func(i int) (float64, bool) { return float64(len(d.Cells[i].Runs)), d.Cells[i].Same < 0 })
	for _, m := range d.Metrics {
		unit, factor := baseUnit(m.Unit)
		e.family("psbench_cell_"+plain(m.Name)+unit, "gauge", "Median over the runs of a cell: "+m.Means+".")
		estimates := d.Judged[m.Name].Estimates
		e.cells(d, func(i int) (float64, bool) {
			if i >= len(estimates) || estimates[i] == nil || estimates[i].Median == nil {
				return 0, false
			}
			return *estimates[i].Median * factor, true
		})
	}
	return e.out.Bytes()
}

// running writes of the run that goes on. What counts up is a value and no label, each value of which
// would be a series for good.
func (e *exposition) running(d *view.Document, r *view.Running) {
	of := view.Cell{Name: r.Name}
	if r.Cell >= 0 && r.Cell < len(d.Cells) {
		of = d.Cells[r.Cell]
	}
	e.family("psbench_run_info", "gauge", "The cell of the run that goes on, always 1.")
	e.sample(1, labelsOf(of)...)
	if r.Cell >= 0 {
		e.family("psbench_run_round", "gauge", "Round of the run that goes on, counted from 0.")
		e.sample(float64(r.Round))
	}
	e.family("psbench_run_phase", "gauge", "What the run that goes on is at, always 1.")
	e.sample(1, label{"phase", r.Phase})
	e.family("psbench_run_iterations", "gauge", "Iterations of the first trainer in the pass that runs.")
	e.sample(float64(r.Iterations))
	if r.Of > 0 {
		e.family("psbench_run_planned_iterations", "gauge", "Iterations that the pass that runs will have.")
		e.sample(float64(r.Of))
	}
	if r.Rate > 0 {
		e.family("psbench_run_samples_per_second", "gauge", "Samples of all trainers in a second, of late.")
		e.sample(r.Rate)
	}
	if r.Loss != nil {
		e.family("psbench_run_loss", "gauge", "Loss of the last iteration that was told of.")
		e.sample(*r.Loss)
	}
}

// cells writes a value of each cell that has one. Two series of the same labels would spoil all.
func (e *exposition) cells(d *view.Document, value func(cell int) (float64, bool)) {
	written := map[string]bool{}
	for i, c := range d.Cells {
		key := c.Name + strconv.FormatBool(c.Again)
		if v, ok := value(i); ok && !written[key] {
			written[key] = true
			e.sample(v, labelsOf(c)...)
		}
	}
}

// labelsOf tell a cell from others.
func labelsOf(c view.Cell) []label {
	return []label{{"cell", c.Name}, {"again", strconv.FormatBool(c.Again)}}
}

// baseUnit is what a name ends in for a unit of psbench, and the factor to the unit that is meant.
func baseUnit(unit string) (suffix string, factor float64) {
	switch unit {
	case "samples/s":
		return "_samples_per_second", 1
	case "ms":
		return "_seconds", 1e-3
	case "µs":
		return "_seconds", 1e-6
	case "B":
		return "_bytes", 1
	case "MiB":
		return "_bytes", 1 << 20
	case "GB/s":
		return "_bytes_per_second", 1e9
	case "%":
		return "_ratio", 1e-2
	case "share":
		return "_ratio", 1
	default:
		return "", 1
	}
}

// exposition is text in the format of Prometheus. A family without samples is left out.
type exposition struct {
	out  bytes.Buffer
	name string
	head string // of the family, until its first sample
}

func (e *exposition) family(name, kind, help string) {
	e.name = name
	e.head = fmt.Sprintf("# HELP %s %s\n# TYPE %s %s\n", name, escapedHelp.Replace(valid(help)), name, kind)
}

// label is one of a series.
type label struct{ name, value string }

func (e *exposition) sample(value float64, labels ...label) {
	e.out.WriteString(e.head + e.name)
	e.head = ""
	if len(labels) > 0 {
		texts := make([]string, len(labels))
		for i, l := range labels {
			texts[i] = l.name + `="` + escapedLabel.Replace(valid(l.value)) + `"`
		}
		e.out.WriteString("{" + strings.Join(texts, ",") + "}")
	}
	e.out.WriteString(" " + strconv.FormatFloat(value, 'g', -1, 64) + "\n")
}

var (
	escapedHelp  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	escapedLabel = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
)

// valid is text in UTF-8, which the format asks for.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// plain is a name of letters, digits and underscores.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, name)
}
