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

// LeastIterations is the default minimum number of iterations that a trainer measures. With fewer iterations, one slow
// iteration dominates the mean.
const LeastIterations = 20

// alternatives lists groups of options that set the same length in different ways. In each group, the option of the
// highest layer applies.
var alternatives = [][]string{
	{"epochs", "iterations", "seconds"},
	{"warmup", "warmup_cycles"}, // warmup_cycles is an option of the hybrid benchmark
}

// takeInstead resets the values of lower layers for which this layer gives an alternative.
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

// replaced reports whether an alternative replaces this option.
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
	case "": // replaced by an alternative
		return stop.Length{Epochs: c.WarmupCycles}
	default:
		n, _ := strconv.Atoi(c.Warmup) // Parse has checked the number
		return stop.Length{Iterations: n}
	}
}

// undecided is the end of the origin of epochs if their number depends on the data. The number of epochs becomes known
// when the data has been partitioned.
var undecided = fmt.Sprintf(", or more for %d iterations per trainer", LeastIterations)

// Decided returns the values of an experiment after the number of epochs was decided.
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
