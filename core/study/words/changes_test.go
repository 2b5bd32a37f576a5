package words

import (
	"bytes"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/psbench/psbench/core/study/judge"
	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/core/study/model/modeltest"
	"github.com/psbench/psbench/core/study/verdict"
)

// If no percentage can express a change, the text is a difference with a unit.
func TestChangesThatAreNoPercentages(t *testing.T) {
	waiting, share, loss := model.Metric{Name: "time_waiting", Unit: "ms", Better: model.Lower},
		model.Metric{Name: model.Waiting, Unit: "%", Better: model.Lower}, model.Metric{Name: model.HeldOutLoss,
			Unit: "loss", Better: model.Lower}
	six := func(v float64) []float64 { return []float64{v, v + 0.01, v + 0.02, v + 0.03, v + 0.04, v + 0.05} }
	for name, c := range map[string]struct {
		metric             model.Metric
		old, new           []float64
		change, ends, more string
	}{
		"a percentage": {waiting, six(1), six(2), "+97.6 %", "+93.3 % to +102.0 %", "97.6 % more"},
		"from 0": {waiting, make([]float64, 6), six(2), "+2.025 ms", "+2.000 ms to +2.050 ms",
			"2.025 ms more"},
		"from nearly 0": {waiting, []float64{1e-9, 1e-9, 1e-9, 1e-9, 1e-9, 1e-9}, six(2), "+2.025 ms",
			"+2.000 ms to +2.050 ms", "2.025 ms more"},
		"to 0": {waiting, six(2), make([]float64, 6), "−100.0 %", "−100.0 % to −100.0 %", "100.0 % less"},
		"shares from 0": {share, make([]float64, 6), six(2), "+2.025 points", "+2.000 points to +2.050 points",
			"2.025 points more"},
		"losses below 0":   {loss, six(-3), six(-2), "+1.000", "+0.9700 to +1.030", "1.000 more"},
		"losses through 0": {loss, six(2), six(-2), "−4.000", "−4.030 to −3.970", "4.000 less"},
		"not finite":       {loss, six(2), []float64{math.Inf(1)}, "-", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := judge.Compare([]judge.Pair{{Old: judge.Apart(c.old), New: judge.Apart(c.new)}}, false,
				judge.Floor{Change: 0.01, Runs: 3})[0]
			if text := changeText(c.metric, got); text != c.change {
				t.Errorf("%s: %s, want %s", name, text, c.change)
			}
			if text := endsText(c.metric, got); text != c.ends {
				t.Errorf("%s: from %s, want %s", name, text, c.ends)
			}
			if text := moreText(c.metric, got); c.more != "" && text != c.more {
				t.Errorf("%s: %s, want %s", name, text, c.more)
			}
		})
	}
}

// A floor is a percentage of the runs' median, or a factor. If the median is not above 0, the floor has the metric's
// unit.
func TestFloorText(t *testing.T) {
	waiting := model.Metric{Name: "time_waiting", Unit: "ms", Better: model.Lower}
	for want, y := range map[string]verdict.Yardstick{
		"2.0 %":             {Metric: waiting, Center: 5, Floor: judge.Floor{Change: 0.02}},
		"100.0 %":           {Metric: waiting, Center: 5, Floor: judge.Floor{Change: 1}},
		"2,500.0 %":         {Metric: waiting, Center: 1e-5, Floor: judge.Floor{Change: 25}},
		"a factor of 251.0": {Metric: waiting, Center: 1e-5, Floor: judge.Floor{Change: 250}},
		"0.06000 ms":        {Metric: waiting, Center: -3, Floor: judge.Floor{Change: 0.02}},
		"5.0 %":             {Metric: waiting, Center: math.NaN(), Floor: judge.Floor{Change: 0.05}},
	} {
		t.Run(want, func(t *testing.T) {
			if got := yardstickText(y); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
}

// If the baseline's metric is about 0 or negative, the study shows no infinite or undefined number.
func TestTextOfWhatIsNearlyNothing(t *testing.T) {
	for name, losses := range map[string][]float64{
		"from 0": {0, 0.7}, "from nearly 0": {1e-12, 0.7}, "below 0": {-3, -2}, "through 0": {0.3, -0.4},
	} {
		t.Run(name, func(t *testing.T) {
			s := modeltest.Made([]model.Axis{{Name: "server", Values: []string{"a", "b"}}},
				func(values []string) modeltest.Plot {
					return modeltest.Plot{Throughput: 100, Noise: 0.01, Runs: 8}
				})
			for i, c := range append(s.Cells, s.Again) {
				for k, r := range c.Runs {
					r.Values[model.HeldOutLoss] = losses[i%2] * (1 + 0.01*float64(k))
				}
			}
			var out bytes.Buffer
			if err := WriteStudy(&out, s, Options{Metric: model.HeldOutLoss, Full: true}); err != nil {
				t.Fatal(err)
			}
			c, err := verdict.Along(s, "server",
				model.Metric{Name: model.HeldOutLoss, Unit: "loss", Better: model.Lower})
			if err != nil {
				t.Fatal(err)
			}
			if err := WriteComparison(&out, c, 0); err != nil {
				t.Fatal(err)
			}
			for _, percent := range regexp.MustCompile(
				`[0-9][0-9,.]* % (less|more|to)|[+−][0-9][0-9,.]* %`).FindAllString(out.String(), -1) {
				if percent != "+0.0 %" && !strings.Contains(percent, "A/A") {
					t.Errorf("%s: it says %s:\n%s", name, percent, &out)
					break
				}
			}
		})
	}
}
