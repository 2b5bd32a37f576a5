package words

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/core/study/model/modeltest"
	"github.com/psbench/psbench/internal/screen"
)

// Every study can be shown, and every run is counted. A second call returns the same text.
func TestEveryStudyCanBeShown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.SampledFrom([]float64{0, 1, 1, 2, 2.5, 1e-9, 1e300, -3, math.NaN(), math.Inf(1)})
		axes := []model.Axis{{Name: "server", Values: []string{"a", "b"}},
			{Name: "model", Values: []string{"m", "n"}}}[:rapid.IntRange(0, 2).Draw(t, "axes")]
		done, failed := 0, 0
		s := modeltest.Made(axes, func([]string) modeltest.Plot { return modeltest.Plot{} })
		for _, c := range append(s.Cells, s.Again) {
			for round := range rapid.IntRange(0, 8).Draw(t, "runs") {
				r := &model.Run{Round: round, Values: map[string]float64{}}
				for _, m := range []string{model.Throughput, model.TimePerBatch, model.HeldOutLoss, model.P99,
					model.Compute, model.Moving} {
					if rapid.Bool().Draw(t, m) {
						r.Values[m] = value.Draw(t, m)
					}
				}
				for range rapid.IntRange(0, 2).Draw(t, "epochs") {
					r.Epochs = append(r.Epochs, model.Epoch{Seconds: value.Draw(t, "seconds"), Bytes: 1e6,
						Values: map[string]float64{"held_out_auc": value.Draw(t, "auc")}})
				}
				c.Runs = append(c.Runs, r)
				done++
			}
			for range rapid.IntRange(0, 2).Draw(t, "failures") {
				c.Failed = append(c.Failed, model.Failure{Reason: "why"})
				failed++
			}
		}
		s.InRounds = rapid.Bool().Draw(t, "rounds")
		s.Baseline = rapid.IntRange(0, len(s.Cells)-1).Draw(t, "baseline")
		show := func() string {
			var out bytes.Buffer
			if err := WriteStudy(&out, s, Options{Target: "auc=1", Width: 80, Full: true}); err != nil {
				t.Fatal(err)
			}
			return out.String()
		}
		text := show()
		if again := show(); again != text {
			t.Fatalf("it says\n%s\nand then\n%s", text, again)
		}
		want := fmt.Sprintf("%s done", screen.Count(done, "run"))
		if failed > 0 {
			want += fmt.Sprintf(", %d failed", failed)
		}
		if words := strings.Join(strings.Fields(text), " "); !strings.Contains(words, want) {
			t.Fatalf("%q is not in\n%s", want, text)
		}
	})
}
