package config

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/internal/host/stop"
)

// said returns the values that set the lengths of passes, each as key, value and origin.
func said(exp *Experiment) (out []string) {
	for _, v := range exp.Values {
		switch v.Key {
		case "epochs", "iterations", "seconds", "warmup", "warmup_cycles":
			out = append(out, fmt.Sprintf("%s %v, %s", v.Key, v.Value, v.Origin))
		}
	}
	return out
}

// A length of a higher layer replaces a length of a lower layer, in whichever unit both are given.
func TestLengthsOfLayers(t *testing.T) {
	const more = ", or more for 20 iterations per trainer"
	inFolder(t, map[string]string{
		"epochs.json": `{"epochs": 3}`, "iterations.json": `{"iterations": 37, "warmup": 9}`,
		"seconds.json": `{"seconds": 2.5, "warmup": "none"}`,
		"hybrid.json":  `{"trainer": "hybrid", "warmup_cycles": 4, "seconds": 1e1}`,
		"result.json":  `{"schema": "psbench.result/1", "config": [{"key": "epochs", "value": 20, "origin": "default: 20 iterations per trainer"}, {"key": "warmup", "value": "full", "origin": "default"}]}`,
		"timed.json":   `{"schema": "psbench.result/1", "config": [{"key": "seconds", "value": 0.5, "origin": "flag --seconds"}, {"key": "warmup", "value": "7", "origin": "flag --warmup"}]}`,
		"again.json":   `{"schema": "psbench.result/1", "config": [{"key": "trainer", "value": "hybrid", "origin": "flag --trainer"}, {"key": "epochs", "value": 100, "origin": "default of trainer hybrid"}, {"key": "warmup_cycles", "value": 5, "origin": "flag --warmup-cycles"}]}`,
	})
	five, twenty := stop.Length{Epochs: 5, Least: 20}, stop.Length{Epochs: 20}
	for _, c := range []struct {
		environ, flags string
		length, warmUp stop.Length
		said           []string
	}{
		{"", "", five, five, []string{"epochs 5, default" + more, "warmup full, default"}},
		{"", "--trainer hybrid", stop.Length{Epochs: 100, Least: 20}, stop.Length{Epochs: 100, Least: 20},
			[]string{"epochs 100, default of trainer hybrid" + more, "warmup full, default"}},
		{"", "--epochs 5", stop.Length{Epochs: 5}, stop.Length{Epochs: 5},
			[]string{"epochs 5, flag --epochs", "warmup full, default"}},
		{"", "--iterations 37 --warmup none", stop.Length{Iterations: 37}, stop.Length{},
			[]string{"iterations 37, flag --iterations", "warmup none, flag --warmup"}},
		{"", "--seconds .5 --warmup 7", stop.Length{Time: time.Second / 2}, stop.Length{Iterations: 7},
			[]string{"seconds 0.5, flag --seconds", "warmup 7, flag --warmup"}},
		{"", "--seconds 1e-10", stop.Length{Time: 1}, stop.Length{Time: 1},
			[]string{"seconds 1e-10, flag --seconds", "warmup full, default"}},
		{"", "--warmup 7", five, stop.Length{Iterations: 7},
			[]string{"epochs 5, default" + more, "warmup 7, flag --warmup"}},
		{"PSBENCH_SECONDS=3", "", stop.Length{Time: 3 * time.Second}, stop.Length{Time: 3 * time.Second},
			[]string{"seconds 3, environment PSBENCH_SECONDS", "warmup full, default"}},
		{"PSBENCH_SECONDS=3", "--iterations 7", stop.Length{Iterations: 7}, stop.Length{Iterations: 7},
			[]string{"iterations 7, flag --iterations", "warmup full, default"}},
		{"PSBENCH_EPOCHS=2", "--config seconds.json", stop.Length{Epochs: 2}, stop.Length{},
			[]string{"epochs 2, environment PSBENCH_EPOCHS", "warmup none, seconds.json"}},
		{"", "--config epochs.json", stop.Length{Epochs: 3}, stop.Length{Epochs: 3},
			[]string{"epochs 3, epochs.json", "warmup full, default"}},
		{"", "--config epochs.json --seconds 1", stop.Length{Time: time.Second}, stop.Length{Time: time.Second},
			[]string{"seconds 1, flag --seconds", "warmup full, default"}},
		{"", "--config iterations.json", stop.Length{Iterations: 37}, stop.Length{Iterations: 9},
			[]string{"iterations 37, iterations.json", "warmup 9, iterations.json"}},
		{"", "--config seconds.json --warmup full", stop.Length{Time: 2500 * time.Millisecond},
			stop.Length{Time: 2500 * time.Millisecond},
			[]string{"seconds 2.5, seconds.json", "warmup full, flag --warmup"}},
		{"", "--config hybrid.json", stop.Length{Time: 10 * time.Second}, stop.Length{Epochs: 4},
			[]string{"seconds 10, hybrid.json", "warmup_cycles 4, hybrid.json"}},
		{"", "--config hybrid.json --warmup none", stop.Length{Time: 10 * time.Second}, stop.Length{},
			[]string{"seconds 10, hybrid.json", "warmup none, flag --warmup"}},
		{"PSBENCH_WARMUP=none", "--trainer hybrid --warmup-cycles 0 --epochs 1", stop.Length{Epochs: 1}, stop.Length{},
			[]string{"epochs 1, flag --epochs", "warmup_cycles 0, flag --warmup-cycles"}},
		{"", "--config hybrid.json --trainer ddp --warmup 3", stop.Length{Time: 10 * time.Second},
			stop.Length{Iterations: 3}, []string{"seconds 10, hybrid.json", "warmup 3, flag --warmup"}},
		{"", "--config result.json", twenty, twenty, []string{"epochs 20, result.json", "warmup full, result.json"}},
		{"", "--config result.json --iterations 100", stop.Length{Iterations: 100}, stop.Length{Iterations: 100},
			[]string{"iterations 100, flag --iterations", "warmup full, result.json"}},
		{"", "--config timed.json", stop.Length{Time: time.Second / 2}, stop.Length{Iterations: 7},
			[]string{"seconds 0.5, timed.json", "warmup 7, timed.json"}},
		{"", "--config again.json --warmup-cycles 1", stop.Length{Epochs: 100}, stop.Length{Epochs: 1},
			[]string{"epochs 100, again.json", "warmup_cycles 1, flag --warmup-cycles"}},
	} {
		t.Run(c.environ, func(t *testing.T) {
			exp, err := resolve(t, strings.Fields(c.environ), strings.Fields(c.flags))
			if err != nil {
				t.Errorf("%s %s: %v", c.environ, c.flags, err)
				return
			}
			if exp.Length != c.length || exp.WarmUp != c.warmUp {
				t.Errorf("%s %s: a pass of %+v after one of %+v, want %+v and %+v", c.environ, c.flags, exp.Length,
					exp.WarmUp, c.length, c.warmUp)
			}
			if d := cmp.Diff(c.said, said(exp)); d != "" {
				t.Errorf("%s %s: %s", c.environ, c.flags, d)
			}
		})
	}
}

func TestLengthErrors(t *testing.T) {
	const one, seconds = " are both given, but a pass has one length: leave one of them out",
		" but must be a number above 0 and at most 31536000"
	const warmup = " but must be full or none, or a whole number from 1 to 1000000000"
	inFolder(t, map[string]string{
		"two.json":  `{"seconds": 1, "iterations": 2}`,
		"warm.json": `{"trainer": "hybrid", "warmup": 2, "warmup-cycles": 2}`,
		"text.json": `{"seconds": "1"}`, "part.json": `{"warmup": 1.5}`, "list.json": `{"warmup": []}`,
		"cycles.json":   `{"warmup_cycles": 2}`,
		"registry.json": `{"trainer_map": {"t": {"plugin": "builtin", "description": "d", "defaults": {"epochs": 2, "seconds": 1}}}}`,
	})
	for _, c := range []struct{ environ, flags, want string }{
		{"", "--epochs 1 --iterations 1", "--epochs and --iterations" + one},
		{"", "--seconds 1 --iterations 1", "--iterations and --seconds" + one},
		{"", "--seconds 1 --epochs 2", "--epochs and --seconds" + one},
		{"PSBENCH_EPOCHS=1 PSBENCH_SECONDS=1", "--iterations 3", "PSBENCH_EPOCHS and PSBENCH_SECONDS" + one},
		{"", "--config two.json", "iterations in two.json and seconds in two.json" + one},
		{"", "--trainer hybrid --warmup full --warmup-cycles 5", "--warmup and --warmup-cycles" + one},
		{"", "--config warm.json", "warmup in warm.json and warmup_cycles in warm.json" + one},
		{"", "--registry registry.json",
			"--registry: epochs in trainer_map.t.defaults of registry.json and seconds in trainer_map.t.defaults of registry.json" + one},
		{"", "--config cycles.json",
			"warmup_cycles in cycles.json is an option of the hybrid benchmark, but trainer ddp is chosen: give --trainer hybrid"},
		{"", "--iterations 0", "--iterations is 0 but must be a whole number from 1 to 1000000000"},
		{"", "--iterations 2.5", "--iterations is 2.5 but must be a whole number from 1 to 1000000000"},
		{"", "--iterations 1,000",
			`--iterations is "1,000" but must be a whole number from 1 to 1000000000; its comma could separate thousands or decimals: write a point before decimals and nothing between thousands`},
		{"", "--seconds 0", "--seconds is 0" + seconds},
		{"", "--seconds -1", "--seconds is -1" + seconds},
		{"", "--seconds 31536001", "--seconds is 31536001" + seconds},
		{"", "--seconds 1e999", "--seconds is 1e999" + seconds},
		{"", "--seconds NaN", `--seconds is "NaN"` + seconds},
		{"", "--seconds 0x1", `--seconds is "0x1"` + seconds},
		{"", "--seconds 10s", `--seconds is "10s"` + seconds},
		{"", "--config text.json", `seconds in text.json is "1"` + seconds},
		{"", "--warmup 0", `--warmup is "0"` + warmup},
		{"", "--warmup some", `--warmup is "some"` + warmup},
		{"PSBENCH_WARMUP=-1", "", `PSBENCH_WARMUP is "-1"` + warmup},
		{"", "--config part.json", `warmup in part.json is "1.5"` + warmup},
		{"", "--config list.json", "warmup in list.json is [] but must be a string"},
	} {
		t.Run(c.environ, func(t *testing.T) {
			_, err := resolve(t, strings.Fields(c.environ), strings.Fields(c.flags))
			if err == nil || err.Error() != c.want {
				t.Errorf("%s %s\n got %v\nwant %s", c.environ, c.flags, err, c.want)
			}
		})
	}
}

// A trainer's default length does not count as given by the user. The user's length replaces the default, and psbench
// may raise default epochs.
func TestLengthOfATrainersDefaults(t *testing.T) {
	inFolder(t, map[string]string{
		"registry.json": `{"trainer_map": {"t": {"plugin": "builtin", "description": "d", "defaults": {"seconds": 4, "warmup": 3}}}}`,
	})
	for flags, want := range map[string]stop.Length{"": {Time: 4 * time.Second}, "--epochs 2": {Epochs: 2}} {
		t.Run(flags, func(t *testing.T) {
			exp := mustResolve(t, nil, append(strings.Fields(flags), "--registry=registry.json", "--trainer=t"))
			if exp.Length != want || exp.WarmUp != (stop.Length{Iterations: 3}) {
				t.Errorf("%s: a pass of %+v after one of %+v", flags, exp.Length, exp.WarmUp)
			}
		})
	}
}

// A configuration file does not contain values that are decided only during a run.
func TestUndecidedEpochsAreNotWritten(t *testing.T) {
	exp := mustResolve(t, nil, nil)
	file := File(exp.Values)
	if epochs, ok := file["epochs"]; ok {
		t.Errorf("the file has %v epochs", epochs)
	}
	for epochs, want := range map[int]string{
		5: "epochs 5, default", 20: "epochs 20, default: 20 iterations per trainer",
	} {
		t.Run(fmt.Sprint(epochs), func(t *testing.T) {
			values := exp.Decided(epochs)
			if got := said(&Experiment{Values: values})[0]; got != want {
				t.Errorf("%d epochs: %q, want %q", epochs, got, want)
			}
			if got := File(values)["epochs"]; got != json.Number(fmt.Sprint(epochs)) {
				t.Errorf("%d epochs: the file has %v", epochs, got)
			}
		})
	}
	if said(exp)[0] != "epochs 5, default, or more for 20 iterations per trainer" {
		t.Errorf("the experiment changed: %s", said(exp)[0])
	}
}
