package config

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/psbench/psbench/core/plan/config/option"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/host/stop"
)

// LeastIterations is the default minimum of iterations that a trainer measures. With fewer, one slow iteration
// dominates the mean.
const LeastIterations = 20

// alternatives are groups of options that set the same length in different ways. The option of the highest layer
// counts.
var alternatives = [][]string{
	{"epochs", "iterations", "seconds"},
	{"warmup", "warmup_cycles"}, // the latter is the hybrid benchmark's
}

// takeInstead removes the alternatives that lower layers gave to a layer's values.
func (c *Config) takeInstead(l layer, values map[string]any) error {
	for _, keys := range alternatives {
		var given []string
		for _, key := range keys {
			if _, ok := values[key]; ok {
				given = append(given, key)
			}
		}
		if len(given) > 1 {
			return fmt.Errorf("%s and %s are both given, but a pass has one length: leave one of them out",
				l.name(given[0]), l.name(given[1]))
		}
		for _, key := range keys {
			if len(given) == 1 && key != given[0] {
				o, _ := option.Of(key)
				values[key] = o.Zero()
				delete(c.sources, key)
			}
		}
	}
	return nil
}

// replaced reports whether another option replaces this one.
func (c *Config) replaced(key string) bool {
	_, known := c.sources[key]
	return !known && slices.ContainsFunc(alternatives, func(keys []string) bool { return slices.Contains(keys, key) })
}

// length returns the length of the measured pass.
func (c *Config) length() stop.Length {
	l := stop.Length{Epochs: c.Epochs, Iterations: c.Iterations}
	if c.Seconds > 0 {
		l.Time = max(1, time.Duration(c.Seconds*float64(time.Second)))
	}
	if l.Epochs > 0 && !c.given("epochs") {
		l.Least = LeastIterations
	}
	return l
}

// warmUp returns the length of the warm-up pass.
func (c *Config) warmUp() stop.Length {
	switch c.Warmup {
	case "full":
		return c.length()
	case "none":
		return stop.Length{}
	case "": // replaced
		return stop.Length{Epochs: c.WarmupCycles}
	default:
		n, _ := strconv.Atoi(c.Warmup) // Parse has checked it
		return stop.Length{Iterations: n}
	}
}

// undecided ends the origin of epochs that become known once the data is partitioned.
var undecided = fmt.Sprintf(", or more for %d iterations per trainer", LeastIterations)

// Decided returns the values of an experiment after its epochs were decided.
func (e *Experiment) Decided(epochs int) []result.Value {
	values := slices.Clone(e.Values)
	for i := range values {
		v := &values[i]
		if v.Key != "epochs" || e.Length.Least == 0 {
			continue
		}
		v.Origin = v.Origin[:len(v.Origin)-len(undecided)]
		if epochs > e.Length.Epochs {
			v.Value, v.Origin = json.Number(strconv.Itoa(epochs)), fmt.Sprintf("%s: %d iterations per trainer",
				byDefault, LeastIterations)
		}
	}
	return values
}
