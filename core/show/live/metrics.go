package live

import (
	"bytes"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/psbench/psbench/core/show/view"
)

// textFormat is a format that every version of Prometheus reads. This file uses only the encoder of expfmt, not the
// registry of client_golang. That registry would set up collectors for Go and /proc at every process start, which
// takes 0.8 ms of about 15 ms.
var textFormat = expfmt.NewFormat(expfmt.TypeTextPlain)

// metrics returns a document and its progress in the text format of Prometheus, in base units.
func metrics(d *view.Document, l view.Live) []byte {
	var out bytes.Buffer
	encoder := expfmt.NewEncoder(&out, textFormat)
	for _, family := range familiesOf(d, l) {
		if len(family.Metric) > 0 {
			_ = encoder.Encode(family) // writing to memory cannot fail
		}
	}
	return out.Bytes()
}

// familiesOf returns the metric families of a document and its progress.
func familiesOf(d *view.Document, l view.Live) []*dto.MetricFamily {
	all := []*dto.MetricFamily{
		gauge("psbench_build_info", "The psbench that runs, always 1.", sampleOf(1, label("version", d.Psbench))),
		counter("psbench_runs_total", "Runs that have ended, by how.",
			sampleOf(float64(l.Done), label("state", "done")), sampleOf(float64(l.Failed), label("state", "failed"))),
		gauge("psbench_runs_left", "Runs that have not ended.", sampleOf(float64(l.Left))),
		gauge("psbench_elapsed_seconds", "Time since the command began.", sampleOf(l.Seconds)),
	}
	if l.SecondsLeft != nil {
		const help = "Expected time of the remaining runs."
		all = append(all, gauge("psbench_remaining_seconds", help, sampleOf(*l.SecondsLeft)))
	}
	if l.Running != nil {
		all = append(all, running(d, l.Running)...)
	}
	runs := cells(d, func(i int) (float64, bool) { return float64(len(d.Cells[i].Runs)), d.Cells[i].Same < 0 })
	all = append(all, gauge("psbench_cell_runs", "Runs of a cell that are done.", runs...))
	for _, m := range d.Metrics {
		unit, factor := baseUnit(m.Unit)
		estimates := d.Judged[m.Name].Estimates
		medians := cells(d, func(i int) (float64, bool) {
			if i >= len(estimates) || estimates[i] == nil || estimates[i].Median == nil {
				return 0, false
			}
			return *estimates[i].Median * factor, true
		})
		help := "Median over the runs of a cell: " + m.Means + "."
		all = append(all, gauge("psbench_cell_"+plain(m.Name)+unit, help, medians...))
	}
	return all
}

// running returns the metrics of the current run. Counts such as the round are values, not labels: each new label
// value would create another permanent series.
func running(d *view.Document, r *view.Running) (all []*dto.MetricFamily) {
	add := func(name, help string, value float64, labels ...*dto.LabelPair) {
		all = append(all, gauge(name, help, sampleOf(value, labels...)))
	}
	of := view.Cell{Name: r.Name}
	if r.Cell >= 0 && r.Cell < len(d.Cells) {
		of = d.Cells[r.Cell]
	}
	add("psbench_run_info", "Cell of the current run, always 1.", 1, labelsOf(of)...)
	if r.Cell >= 0 {
		add("psbench_run_round", "Round of the current run, counted from 0.", float64(r.Round))
	}
	add("psbench_run_phase", "Phase of the current run, always 1.", 1, label("phase", r.Phase))
	add("psbench_run_iterations", "Iterations of the first trainer in the current pass.", float64(r.Iterations))
	if r.Of > 0 {
		add("psbench_run_planned_iterations", "Planned iterations of the current pass.", float64(r.Of))
	}
	if r.Rate > 0 {
		add("psbench_run_samples_per_second", "Samples per second of all trainers over the last seconds.", r.Rate)
	}
	if r.Loss != nil {
		add("psbench_run_loss", "Loss of the last reported iteration.", *r.Loss)
	}
	return all
}

// cells returns a sample for each cell that has a value. It skips repeated label sets, because a duplicate series
// would invalidate the whole output.
func cells(d *view.Document, value func(cell int) (float64, bool)) (all []sample) {
	written := map[string]bool{}
	for i, c := range d.Cells {
		key := c.Name + strconv.FormatBool(c.Again)
		if v, ok := value(i); ok && !written[key] {
			written[key] = true
			all = append(all, sampleOf(v, labelsOf(c)...))
		}
	}
	return all
}

// labelsOf returns the labels that identify a cell.
func labelsOf(c view.Cell) []*dto.LabelPair {
	return []*dto.LabelPair{label("cell", c.Name), label("again", strconv.FormatBool(c.Again))}
}

// baseUnit returns the name suffix of the base unit for a unit of psbench, and the factor that converts to the base
// unit.
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

// sample is one value with its labels.
type sample struct {
	value  float64
	labels []*dto.LabelPair
}

func sampleOf(value float64, labels ...*dto.LabelPair) sample { return sample{value, labels} }

func label(name, value string) *dto.LabelPair {
	return &dto.LabelPair{Name: &name, Value: new(valid(value))}
}

func gauge(name, help string, samples ...sample) *dto.MetricFamily {
	f := &dto.MetricFamily{Name: &name, Help: new(valid(help)), Type: dto.MetricType_GAUGE.Enum()}
	for _, s := range samples {
		f.Metric = append(f.Metric, &dto.Metric{Label: s.labels, Gauge: &dto.Gauge{Value: &s.value}})
	}
	return f
}

func counter(name, help string, samples ...sample) *dto.MetricFamily {
	f := &dto.MetricFamily{Name: &name, Help: new(valid(help)), Type: dto.MetricType_COUNTER.Enum()}
	for _, s := range samples {
		f.Metric = append(f.Metric, &dto.Metric{Label: s.labels, Counter: &dto.Counter{Value: &s.value}})
	}
	return f
}

// valid returns text as valid UTF-8, which the format requires.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// plain replaces every character other than ASCII letters and digits by an underscore.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, name)
}
