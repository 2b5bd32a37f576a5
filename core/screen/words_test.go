package screen

import "testing"

func TestWords(t *testing.T) {
	for got, want := range map[string]string{
		Count(0, "run"): "0 runs", Count(1, "run"): "1 run", Count(2, "run"): "2 runs",
		Percent(0): "0.0 %", Percent(0.0849): "8.5 %", Percent(1): "100.0 %",
	} {
		if got != want {
			t.Errorf("%q instead of %q", got, want)
		}
	}
}
