package environment

import (
	"strings"
	"testing"
	"time"

	"github.com/psbench/psbench/core/host/noise"
	"github.com/psbench/psbench/internal/golden"
	"github.com/psbench/psbench/internal/screen"
)

// noisy returns the intervals of a run during which other processes computed. The last interval is too short for
// percentages.
func noisy() []noise.Interval {
	var intervals []noise.Interval
	for k, name := range []string{noise.Before, noise.WarmUp, noise.Measured, noise.After} {
		i := noise.Interval{Name: name, Duration: []time.Duration{600, 2000, 2000, 40}[k] * time.Millisecond,
			Load: new(1.25)}
		i.Machine = &noise.Machine{Cores: 2, Others: i.Duration / 5, Uncertainty: 30 * time.Millisecond,
			Steal: i.Duration / 100, Idle: i.Duration / 2}
		for pid, process := range []string{"core", "supervisor", "data", "trainer0", "server1"} {
			u := noise.Usage{Name: process, PID: 4000 + pid, CPU: time.Duration(pid) * i.Duration / 20}
			if process != "data" { // as if the context switches of data were unreadable
				u.VoluntarySwitches, u.InvoluntarySwitches = new(int64(100*k+pid)), new(int64(k+pid))
			}
			if name != noise.Before || process != "server1" {
				i.Processes = append(i.Processes, u)
			}
		}
		intervals = append(intervals, i)
	}
	return intervals
}

func TestNoise(t *testing.T) {
	var out strings.Builder
	for _, width := range []int{0, 80} {
		page := &screen.Page{Width: width}
		if err := NoiseTables(page, noisy()); err != nil {
			t.Fatal(err)
		}
		out.WriteString(page.String())
	}
	golden.Require(t, "testdata/noise.txt", out.String())

	unknown, short := noisy(), noisy()
	unknown[2].Machine, short[2].Duration = nil, 100*time.Millisecond
	short[2].Machine.Others = short[2].Machine.Uncertainty
	loud := noisy()
	loud[2].Duration = 100 * time.Millisecond
	for want, intervals := range map[string][]noise.Interval{
		"other processes 10.0 ± 0.8 % CPU, steal 0.5 %, load 1.25 on 2 cores":                   noisy(),
		"the run is too short to measure the CPU time of other processes, load 1.25 on 2 cores": short,
		"other processes 200.0 ± 15.0 % CPU, steal 10.0 %, load 1.25 on 2 cores":                loud, // also a warning
		"": unknown,
	} {
		if got := Noise(intervals); got != want {
			t.Errorf("the noise is %q, want %q", got, want)
		}
	}
	page := &screen.Page{}
	if err := NoiseTables(page, nil); err != nil || page.Len() > 0 {
		t.Errorf("of nothing the tables are %q, %v", page, err)
	}
}
