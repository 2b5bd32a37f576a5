package screen

import (
	"fmt"
	"math"
	"testing"
)

func TestWords(t *testing.T) {
	for got, want := range map[string]string{
		Count(0, "run"): "0 runs", Count(1, "run"): "1 run", Count(2, "run"): "2 runs",
		Percent(0): "0.0 %", Percent(0.0849): "8.5 %", Percent(1): "100.0 %", Percent(12.345): "1,234.5 %",
		Percent(math.Inf(1)): "+Inf %",
		Count(12345, "run"):  "12,345 runs", Thousands(0): "0", Thousands(999): "999", Thousands(1000): "1,000",
		Thousands(123456):  "123,456",
		Thousands(1234567): "1,234,567", Thousands(-123): "-123", Thousands(-1234): "-1,234",
		Grouped("1234.5678"): "1,234.5678", Grouped("0.1234"): "0.1234",
	} {
		t.Run(got, func(t *testing.T) {
			if got != want {
				t.Errorf("%q instead of %q", got, want)
			}
		})
	}
}

func TestGiveOrTake(t *testing.T) {
	for ms, want := range map[float64]string{0: "", -1: "", 0.15: " ± 0.15 ms", 12345: " ± 1.23e+04 ms"} {
		t.Run(fmt.Sprint(ms), func(t *testing.T) {
			if got := GiveOrTake(ms); got != want {
				t.Errorf("%v ms: %q instead of %q", ms, got, want)
			}
		})
	}
}

func TestCut(t *testing.T) {
	for columns, want := range map[int]string{5: "größe", 4: "grö…", 1: "…", 0: "…"} {
		t.Run(fmt.Sprint(columns), func(t *testing.T) {
			if got := Cut("größe", columns); got != want {
				t.Errorf("%d columns: %q instead of %q", columns, got, want)
			}
		})
	}
}
