package report

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/psbench/psbench/internal/screen"
)

// The page shows as many rows as fit, whatever their heights. It lays out few rows beyond that.
func TestRowsWithinLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		heights := rapid.SliceOfN(rapid.IntRange(1, 4), 0, 300).Draw(t, "lines of rows")
		lines := rapid.IntRange(-3, 40).Draw(t, "lines")
		width := rapid.SampledFrom([]int{0, 80}).Draw(t, "columns")
		laidOut := 0
		page, hidden := within(width, len(heights), lines, func(page *screen.Page, shown int) {
			laidOut += shown
			page.Line(0, "heading")
			for row, height := range heights[:shown] {
				for range height {
					page.Line(0, fmt.Sprint(row))
				}
			}
		})
		want, total := 0, 1
		for _, height := range heights {
			if total += height; width > 0 && total > lines {
				break
			}
			want++
		}
		if got := len(heights) - hidden; got != want || width > 0 && page.Lines() > max(lines, 0) {
			t.Fatalf("%d rows are on %d lines, want %d", got, page.Lines(), want)
		}
		if most := max(lines, 0) * (max(lines, 0) + 1) / 2; width > 0 && laidOut > most {
			t.Fatalf("%d rows were laid out for %d lines", laidOut, lines)
		}
	})
}
