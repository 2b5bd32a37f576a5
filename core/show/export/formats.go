package export

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/core/study/sweep"
	"github.com/psbench/psbench/internal/numeral"
)

// Format is a way to write a table.
type Format struct {
	Name  string
	Write func(t *Table, w io.Writer) error
}

// Formats lists all formats.
var Formats = []Format{
	{"csv", (*Table).csv},
	{"jsonl", (*Table).jsonLines},
	{"markdown", (*Table).markdown},
	{"gobench", (*Table).goBench},
}

// These columns stand before and after the variables.
var (
	before = []string{"run", "cell", "round", "seed"}
	after  = []string{"metric", "unit", "better", "value"}
)

// csv writes a header line, then a line for each row.
func (t *Table) csv(w io.Writer) error {
	out := csv.NewWriter(w)
	names := slices.Clone(before)
	for _, v := range t.Variables {
		if slices.Contains(before, v) || slices.Contains(after, v) { // a user's axis has the same name
			v = "axis." + v
		}
		names = append(names, v)
	}
	err := out.Write(append(names, after...))
	for _, r := range t.Rows {
		line := []string{r.Run, r.Cell, strconv.Itoa(r.Round), strconv.FormatUint(r.Seed, 10)}
		for i := range t.Variables {
			line = append(line, r.value(i))
		}
		line = append(line, r.Metric.Name, r.Metric.Unit, string(r.Metric.Better), exact(r.Value))
		if err == nil {
			err = out.Write(line)
		}
	}
	out.Flush()
	if err == nil {
		err = out.Error()
	}
	return err
}

// exact returns a number with the fewest digits that identify it uniquely.
func exact(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// jsonRow is a row as JSON.
type jsonRow struct {
	Run       string         `json:"run"`
	Cell      string         `json:"cell"`
	Round     int            `json:"round"`
	Seed      uint64         `json:"seed"`
	Variables map[string]any `json:"variables"`
	Metric    string         `json:"metric"`
	Unit      string         `json:"unit"`
	Better    model.Better   `json:"better"`
	Value     *float64       `json:"value"` // null unless it is finite
}

// jsonLines writes an object for each row.
func (t *Table) jsonLines(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	for _, r := range t.Rows {
		out := jsonRow{
			Run: r.Run, Cell: r.Cell, Round: r.Round, Seed: r.Seed, Variables: map[string]any{},
			Metric: r.Metric.Name, Unit: r.Metric.Unit, Better: r.Metric.Better,
		}
		for i, v := range r.Values {
			if v != "" {
				out.Variables[t.Variables[i]] = typed(v)
			}
		}
		if numeral.Finite(r.Value) {
			out.Value = &r.Value
		}
		if err := e.Encode(out); err != nil {
			return err
		}
	}
	return nil
}

// typed decodes a text that is a JSON number, boolean, list or object. It returns any other text as a string.
func typed(text string) any {
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return text
}

// markdown writes a table with one line per run. The columns are the variables that differ between runs, then the
// metrics.
func (t *Table) markdown(w io.Writer) error {
	varying, metrics := t.varying(), t.metrics()
	var names, rule []string
	for _, v := range varying {
		names, rule = append(names, t.Variables[v]), append(rule, "---")
	}
	names, rule = append(names, "round"), append(rule, "---:")
	for _, m := range metrics {
		names, rule = append(names, fmt.Sprintf("%s, %s", m.Name, m.Unit)), append(rule, "---:")
	}
	lines := [][]string{names, rule}
	for _, run := range t.runs() {
		var line []string
		for _, v := range varying {
			line = append(line, run[0].value(v))
		}
		round := strconv.Itoa(run[0].Round)
		if run[0].Cell == sweep.AgainID {
			round = sweep.AgainID + " " + round
		}
		line = append(line, round)
		for _, m := range metrics {
			cell := ""
			if i := slices.IndexFunc(run, func(r Row) bool { return r.Metric.Name == m.Name }); i >= 0 {
				cell = strconv.FormatFloat(run[i].Value, 'g', 6, 64)
			}
			line = append(line, cell)
		}
		lines = append(lines, line)
	}
	for _, line := range lines {
		for i, cell := range line {
			line[i] = cellEscapes.Replace(cell)
		}
		if _, err := fmt.Fprintf(w, "| %s |\n", strings.Join(line, " | ")); err != nil {
			return err
		}
	}
	return nil
}

var cellEscapes = strings.NewReplacer("|", `\|`, "\n", " ", "\r", " ")

// goBench writes one line per run in the format of Go's benchmarks (golang.org/x/perf/benchfmt). The benchmark's name
// contains the values that differ between runs. Unit lines state which direction is better.
func (t *Table) goBench(w io.Writer) error {
	varying := t.varying()
	var text strings.Builder
	for i, v := range t.Variables {
		if slices.Contains(varying, i) || len(t.Rows) == 0 || !isKey(v) {
			continue
		}
		if value := t.Rows[0].value(i); value != "" {
			fmt.Fprintf(&text, "%s: %s\n", v, oneLine(value))
		}
	}
	for _, m := range t.metrics() {
		fmt.Fprintf(&text, "Unit %s better=%s\n", unitOf(m), m.Better)
	}
	for _, run := range t.runs() {
		name := "BenchmarkRun"
		for _, v := range varying {
			name += "/" + word(t.Variables[v]) + "=" + word(run[0].value(v))
		}
		if run[0].Cell == sweep.AgainID {
			name += "/again"
		}
		values := ""
		for _, r := range run {
			if numeral.Finite(r.Value) {
				values += fmt.Sprintf(" %s %s", exact(r.Value), unitOf(r.Metric))
			}
		}
		if values != "" {
			fmt.Fprintf(&text, "%s %d%s\n", name, run[0].Count, values)
		}
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// unitOf returns the name of a unit that only this metric has, because the format requires it.
func unitOf(m model.Metric) string { return m.Name + "-" + m.Unit }

// word replaces blanks and slashes, because they would end a part of a benchmark's name.
func word(text string) string {
	if text == "" {
		return "-"
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || !unicode.IsPrint(r) {
			return '_'
		}
		return r
	}, strings.ReplaceAll(text, "/", "_"))
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// isKey reports whether the benchmark format accepts a name as a configuration key, which stands before a colon.
func isKey(name string) bool {
	return name != "" && unicode.IsLower(rune(name[0])) && !strings.ContainsFunc(name, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsUpper(r) || r == ':'
	})
}
