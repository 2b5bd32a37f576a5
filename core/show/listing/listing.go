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

// Values writes the effective configuration as a table of keys, values and origins.
func Values(p *screen.Page, values []result.Value) error {
	var rows [][]string
	for _, v := range values {
		rows = append(rows, []string{v.Key, cell(v.Value), v.Origin})
	}
	return p.Grid([]screen.Column{screen.Left("key"), screen.Left("value"), screen.Left("origin")}, rows, false)
}

// cell returns a value as the text of a table cell: a string as words, any other value as JSON. It cuts long JSON.
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
