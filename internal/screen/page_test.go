package screen

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/olekukonko/tablewriter/pkg/twwidth"
	"pgregory.net/rapid"
)

func TestWrap(t *testing.T) {
	for _, test := range []struct {
		text          string
		width, indent int
		want          []string
	}{
		{"", 5, 0, []string{""}},
		{"short", 5, 0, []string{"short"}},
		{"two words", 5, 0, []string{"two", "words"}},
		{"label    a text", 12, 9, []string{"label    a", "text"}}, // an indent of most of the screen is ignored
		{"label  some words here", 16, 7, []string{"label  some", "       words", "       here"}},
		{"type,name", 6, 0, []string{"type,", "name"}},
		{"unbreakable", 5, 0, []string{"unbre", "akabl", "e"}},
		{"über größe", 5, 0, []string{"über", "größe"}},
		{"one\ntwo three", 5, 0, []string{"one", "two", "three"}},
	} {
		t.Run(test.text, func(t *testing.T) {
			var got []string
			for line := range strings.SplitSeq(test.text, "\n") {
				got = append(got, hang(line, test.width, test.indent)...)
			}
			if d := cmp.Diff(test.want, got); d != "" {
				t.Errorf("%q, %d columns, indent %d: %s", test.text, test.width, test.indent, d)
			}
		})
	}
}

// Only spaces are added or removed, and no line is wider than the screen.
func TestWrapKeepsTheText(t *testing.T) {
	letters := rapid.StringOfN(rapid.RuneFrom([]rune("ab,_/=é世 ")), 0, 60, -1)
	squeezed := func(text string) string { return strings.ReplaceAll(text, " ", "") }
	rapid.Check(t, func(t *rapid.T) {
		text := letters.Draw(t, "text")
		width := rapid.IntRange(2, 30).Draw(t, "width")
		lines := hang(text, width, rapid.IntRange(0, 12).Draw(t, "indent"))
		for _, line := range lines {
			if twwidth.Width(line) > width {
				t.Fatalf("%q is wider than %d: %q", line, width, lines)
			}
		}
		if squeezed(strings.Join(lines, "")) != squeezed(text) {
			t.Fatalf("%q became %q", text, lines)
		}
	})
}

// A grid shrinks in the documented order.
func TestGridFits(t *testing.T) {
	columns := []Column{Left("name"), Right("count").Yields(2), Right("latency µs").Yields(1), Left("what it is")}
	rows := [][]string{{"push_pull", "1234", "56.7", "a push of a gradient and the answer to it"},
		{"barrier", "9", "1.0", "waits"}}
	for width, want := range map[int]string{
		0: `
+-----------+-------+------------+-------------------------------------------+
| name      | count | latency µs | what it is                                |
+-----------+-------+------------+-------------------------------------------+
| push_pull |  1234 |       56.7 | a push of a gradient and the answer to it |
| barrier   |     9 |        1.0 | waits                                     |
+-----------+-------+------------+-------------------------------------------+
`,
		60: `
+-----------+-------+---------+--------------------------+
| name      | count | latency | what it is               |
|           |       |      µs |                          |
+-----------+-------+---------+--------------------------+
| push_pull |  1234 |    56.7 | a push of a gradient and |
|           |       |         | the answer to it         |
| barrier   |     9 |     1.0 | waits                    |
+-----------+-------+---------+--------------------------+
`,
		48: `
+-----------+-------+--------------------------+
| name      | count | what it is               |
+-----------+-------+--------------------------+
| push_pull |  1234 | a push of a gradient and |
|           |       | the answer to it         |
| barrier   |     9 | waits                    |
+-----------+-------+--------------------------+
left out, for the screen has 48 columns: latency
  µs
`,
		30: `
+-----------+---------------+
| name      | what it is    |
+-----------+---------------+
| push_pull | a push of a   |
|           | gradient and  |
|           | the answer to |
|           | it            |
| barrier   | waits         |
+-----------+---------------+
left out, for the screen has
  30 columns: latency µs,
  count
`,
	} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			p := &Page{Width: width}
			if err := p.Grid(columns, rows, false); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, "\n"+p.String()); d != "" {
				t.Errorf("on %d columns: %s", width, d)
			}
		})
	}
}

// drawNumbers draws one column of names, several columns of numbers that may all be hidden, and their rows.
func drawNumbers(t *rapid.T) ([]Column, [][]string) {
	columns := []Column{Left("name")}
	for range rapid.IntRange(0, 6).Draw(t, "numbers") {
		columns = append(columns, Right("a number").Yields(rapid.IntRange(1, 3).Draw(t, "order")))
	}
	var rows [][]string
	for range rapid.IntRange(0, 4).Draw(t, "rows") {
		row := []string{rapid.StringOfN(rapid.RuneFrom([]rune("abc, _世\n")), 0, 70, -1).Draw(t, "name")}
		for range columns[1:] {
			row = append(row, rapid.StringMatching(`[0-9]{1,9}`).Draw(t, "number"))
		}
		rows = append(rows, row)
	}
	return columns, rows
}

// A grid is never wider than the screen if all its number columns may be hidden.
func TestGridIsNoWiderThanItsScreen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		columns, rows := drawNumbers(t)
		p := &Page{Width: rapid.IntRange(12, 90).Draw(t, "width")}
		if err := p.Grid(columns, rows, rapid.Bool().Draw(t, "ruled")); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(p.String()) {
			if w := twwidth.Width(strings.TrimSuffix(line, "\n")); w > p.Width {
				t.Fatalf("%d columns on a screen of %d:\n%s", w, p.Width, p)
			}
		}
	})
}

func TestLabelledLinesBelowATitle(t *testing.T) {
	p := &Page{Width: 30}
	p.Title("größe")
	p.Labelled("CPU", "two cores of an old machine")
	p.Labelled("GPU", "")
	p.Labelled("", "and more")
	const want = "größe\n-----\nCPU         two cores of an\n            old machine\n            and more\n"
	if got := p.String(); got != want {
		t.Errorf("%q instead of %q", got, want)
	}
}
