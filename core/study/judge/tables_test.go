package judge

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var tables = flag.Bool("tables", false,
	"write testdata/tables.txt, by 5,000 studies for each number of alarms")

const (
	tablesFile = "testdata/tables.txt"
	page       = "../../../docs/statistics.md"
)

// testdata/tables.txt has the same tables as the code, and its numbers keep the promises. docs/statistics.md repeats
// some of its rows. With -tables the test writes the file.
func TestTables(t *testing.T) {
	if *tables {
		if err := os.WriteFile(tablesFile, []byte(written(5000, 1000)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	content, err := os.ReadFile(tablesFile)
	if err != nil {
		t.Fatal(err)
	}
	have := string(content)
	number := regexp.MustCompile(`[0-9.]+ \|`)
	if want := written(0, 0); number.ReplaceAllString(have, "|") != number.ReplaceAllString(want, "|") {
		t.Errorf("%s has other tables than those of the code; make statistics writes them:\n%s", tablesFile, want)
	}
	checkPromises(t, have)
	checkPage(t, have)
}

// checkPage checks that each row of a table on the page, below the table's title, is in the table with this title.
func checkPage(t *testing.T, have string) {
	t.Helper()
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	shown := 0
	for _, table := range splitTables(string(content)) {
		lines := strings.Split(table, "\n")
		for _, whole := range splitTables(have) {
			if !strings.HasPrefix(whole, lines[0]+"\n") {
				continue
			}
			shown++
			for _, line := range lines[1:] {
				if strings.HasPrefix(line, "|") && !strings.Contains(whole, "\n"+line+"\n") {
					t.Errorf("%s: %s %s\nis not in %s", page, lines[0], line, tablesFile)
				}
			}
		}
	}
	if shown < 2 {
		t.Errorf("%s has %d tables of %s, want at least 2", page, shown, tablesFile)
	}
}

// splitTables returns the parts of a text that begin with a table's title.
func splitTables(text string) []string {
	var tables []string
	for _, start := range regexp.MustCompile(`(?m)^(Alarms|Found)\b.*, in % of studies:$`).FindAllStringIndex(text, -1) {
		rest := text[start[0]:]
		if end := regexp.MustCompile(`\n\n[^|]`).FindStringIndex(rest); end != nil {
			rest = rest[:end[0]+1]
		}
		tables = append(tables, rest)
	}
	return tables
}

// written returns all tables as Markdown. ofAlarms and ofFinds are the numbers of studies behind each number; with 0
// studies each number is 0.
func written(ofAlarms, ofFinds int) string {
	var b strings.Builder
	for i, t := range alarms() {
		t.write(&b, ofAlarms, uint64(i), "%.1f")
	}
	for i, t := range finds() {
		t.write(&b, ofFinds, uint64(100+i), "%.0f")
	}
	return strings.TrimPrefix(b.String(), "\n")
}

func (t table) write(b *strings.Builder, studies int, seed uint64, format string) {
	shares := make([][]float64, len(t.rows))
	if studies > 0 {
		shares = t.shares(studies, seed)
	}
	fmt.Fprintf(b, "\n%s, in %% of studies:\n\n| %s |", t.title, t.head)
	for _, s := range shapes {
		cells := "cells"
		if s.cells == 1 {
			cells = "cell"
		}
		fmt.Fprintf(b, " %d %s, %d rounds |", s.cells, cells, s.rounds)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(shapes)) + "\n")
	for i, r := range t.rows {
		fmt.Fprintf(b, "| %s |", r.name)
		for j := range shapes {
			share := 0.0
			if shares[i] != nil {
				share = 100 * shares[i][j]
			}
			fmt.Fprintf(b, " "+format+" |", share)
		}
		b.WriteString("\n")
	}
}

// checkPromises checks that no false alarm is more frequent than promised.
func checkPromises(t *testing.T, have string) {
	title := ""
	for _, line := range strings.Split(have, "\n") {
		if !strings.HasPrefix(line, "|") {
			if line != "" {
				title = line
			}
			continue
		}
		columns := strings.Split(strings.Trim(line, "|"), "|")
		if !strings.HasPrefix(title, "Alarms") || len(columns) != 1+len(shapes) || exempt(title, columns[0]) {
			continue
		}
		for j, column := range columns[1:] {
			if share, err := strconv.ParseFloat(strings.TrimSpace(column), 64); err == nil &&
				share > 100*shapes[j].promised()+0.05 {
				t.Errorf("%s %s: %+v: %v %% is more than the %v %% that are promised", title, columns[0], shapes[j],
					share, 100*shapes[j].promised())
			}
		}
	}
}

// exempt reports whether the promise does not apply to a row: the noise is as small as the last digit of the values,
// and no A/A cell shows it.
func exempt(title, noise string) bool {
	return strings.Contains(title, "none an A/A cell") && strings.Contains(noise, "rounded")
}
