package screen

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/olekukonko/tablewriter/pkg/twwidth"
	"pgregory.net/rapid"
)

// Columns shrinks in the same order as a grid.
func TestColumnsFit(t *testing.T) {
	columns := []Column{Left("ms"), Right("count").Yields(1), Right("p50"), Right("share").Yields(2)}
	rows := [][]string{{"forward", "50", "3.8", "17.2 %"}, {"  of that waiting for others", "9", "12.4", ""}}
	for width, want := range map[int]string{
		0: `
ms                            count   p50   share
forward                          50   3.8  17.2 %
  of that waiting for others      9  12.4
`,
		42: `
ms                     count   p50   share
forward                   50   3.8  17.2 %
  of that waiting for      9  12.4
others
`,
		36: `
ms                       p50   share
forward                  3.8  17.2 %
  of that waiting for   12.4
others
left out, for the screen has 36
  columns: count
`,
	} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			p := &Page{Width: width}
			p.Columns(columns, rows)
			if d := cmp.Diff(want, "\n"+p.String()); d != "" {
				t.Errorf("on %d columns: %s", width, d)
			}
			if n := strings.Count(p.String(), "\n"); p.Lines() != n {
				t.Errorf("%d lines count as %d", n, p.Lines())
			}
		})
	}
}

// Columns are never wider than the screen if all their number columns may be left out. No line ends with a space.
func TestColumnsAreNoWiderThanTheirScreen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		columns, rows := drawNumbers(t)
		p := &Page{Width: rapid.IntRange(12, 90).Draw(t, "width")}
		p.Columns(columns, rows)
		for line := range strings.Lines(p.String()) {
			line = strings.TrimSuffix(line, "\n")
			if w := twwidth.Width(line); w > p.Width || strings.HasSuffix(line, " ") {
				t.Fatalf("%q has %d columns on a screen of %d:\n%s", line, w, p.Width, p)
			}
		}
	})
}
