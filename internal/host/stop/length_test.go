package stop

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestSettledLength(t *testing.T) {
	for name, c := range map[string]struct {
		length  Length
		batches int
		want    Length
	}{
		"epochs that are enough":     {Length{Epochs: 5, Least: 20}, 4, Length{Epochs: 5}},
		"epochs that are too few":    {Length{Epochs: 5, Least: 20}, 3, Length{Epochs: 7}},
		"one batch":                  {Length{Epochs: 5, Least: 20}, 1, Length{Epochs: 20}},
		"epochs that somebody gave":  {Length{Epochs: 5}, 1, Length{Epochs: 5}},
		"iterations":                 {Length{Iterations: 7}, 3, Length{Iterations: 7}},
		"time":                       {Length{Time: time.Second}, 3, Length{Time: time.Second}},
		"none":                       {Length{}, 3, Length{}},
		"a batch more than it takes": {Length{Epochs: 1, Least: 20}, 21, Length{Epochs: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.length.Settle(c.batches); got != c.want {
				t.Errorf("%s: %+v, want %+v", name, got, c.want)
			}
		})
	}
}

// Settle uses the fewest epochs that give enough iterations. Each epoch that begins has at least
// one iteration.
func TestLengthLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		batches := rapid.IntRange(1, 50).Draw(t, "batches")
		given, least := rapid.IntRange(1, 50).Draw(t, "epochs"), rapid.IntRange(1, 100).Draw(t, "least")
		l := Length{Epochs: given, Least: least}.Settle(batches)
		if l.IterationsOf(batches) < least || l.Epochs < given || l.Epochs > given && (l.Epochs-1)*batches >= least {
			t.Fatalf("%d epochs", l.Epochs)
		}
		if l.EpochsOf(batches) != l.Epochs || l.IterationsOf(batches) != l.Epochs*batches {
			t.Fatalf("%+v has %d epochs and %d iterations", l, l.EpochsOf(batches), l.IterationsOf(batches))
		}
		l = Length{Iterations: least}
		if n := l.EpochsOf(batches); l.IterationsOf(batches) != least || n*batches < least || (n-1)*batches >= least {
			t.Fatalf("%d iterations are %d epochs", least, n)
		}
	})
}
