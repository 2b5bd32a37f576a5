// Package listing lays out what psbench can show without a run: the catalogue of parts, the settings of parts and of
// an experiment, registered plugins, devices, hosts and their launchers, and the plan and the status of a sweep.
package listing

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/screen"
)

// Values writes the table of an effective configuration: each key with its value and its origin.
func Values(p *screen.Page, values []result.Value) error {
	var rows [][]string
	for _, v := range values {
		rows = append(rows, []string{v.Key, cell(v.Value), v.Origin})
	}
	return p.Grid([]screen.Column{screen.Left("key"), screen.Left("value"), screen.Left("origin")}, rows, false)
}

// cell returns the text of a value for a table: strings as words, anything else as JSON, cut where it is long.
func cell(v any) string {
	if v == nil || v == "" {
		return ""
	}
	if s, ok := v.(string); ok {
		return quote.Word(s)
	}
	data, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	const widest = 60
	if text := []rune(string(data)); len(text) > widest {
		return string(text[:widest-3]) + "..."
	}
	return string(data)
}

// field writes a labelled line; without a text it writes nothing.
func field(p *screen.Page, label, text string) {
	if text != "" {
		p.Line(10, fmt.Sprintf("%-9s %s", label, text))
	}
}

// fieldList writes a labelled line of words.
func fieldList(p *screen.Page, label string, words []string) {
	field(p, label, strings.Join(words, ", "))
}
