package model

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/psbench/psbench/core/plan/config/option"
	"github.com/psbench/psbench/core/record/result"
)

// seedKey is the configuration key that differs between the runs of a cell.
const seedKey = "torch_seed"

// buildKey names the psbench build of a run. It is not a configuration key.
const buildKey = "build"

// recorded is a run as read from its file, with the settings that decide its cell.
type recorded struct {
	run *Run
	// failed is the reason why the run did not complete, or "" if it did.
	failed string
	config map[string]string
	chosen map[string]bool // keys whose values the user set
	order  []string        // keys in the order of the result
	comm   bool            // the run is a row of psbench comm
	early  string          // warning that psbench comm ended before its last row, or ""
}

// record returns the record of the result at path.
func record(path string, r *result.Result) recorded {
	rec := recorded{run: runOf(path, r), config: map[string]string{}, chosen: map[string]bool{}}
	for _, v := range r.Config {
		if distinguishes(v.Key) {
			rec.add(v.Key, v.Text(), !strings.HasPrefix(v.Origin, "default") && !strings.HasPrefix(v.Origin, "derived"))
		}
	}
	rec.add(buildKey, r.Environment.Commit, true)
	if !r.Complete {
		rec.failed = cmp.Or(r.Error, "the run ended early")
	}
	return rec
}

func (rec *recorded) add(key, value string, chosen bool) {
	if _, twice := rec.config[key]; !twice {
		rec.order = append(rec.order, key)
	}
	rec.config[key], rec.chosen[key] = value, chosen
}

// distinguishes reports whether different values of key mean different experiments. It is false for seeds, outputs,
// paths and settings without effect.
func distinguishes(key string) bool {
	o, ok := option.Of(key)
	if !ok {
		return true // a setting of a part
	}
	return key != seedKey && o.NoEffect == "" && o.Group != "output" && o.Group != "files"
}

// group sorts the runs into one cell per configuration. The cells come in the order in which their configurations first
// appear.
func group(name string, runs []recorded) *Study {
	axes := axesOf(runs)
	for i, a := range axes {
		if runs[0].comm && slices.Contains(a, "operation") {
			axes[i] = []string{"operation"} // the operation implies the keys that change with it
		}
	}
	s := &Study{Name: name}
	for _, a := range axes {
		s.Axes = append(s.Axes, Axis{Name: strings.Join(a, "+")})
	}
	cells := map[string]*Cell{}
	for _, rec := range runs {
		id := rec.id()
		c := cells[id]
		if c == nil {
			c = &Cell{ID: id, Config: rec.experiment()}
			for i, keys := range axes {
				value := rec.valueOf(keys)
				c.Values = append(c.Values, value)
				if a := &s.Axes[i]; !slices.Contains(a.Values, value) {
					a.Values = append(a.Values, value)
				}
			}
			cells[id] = c
			s.Cells = append(s.Cells, c)
		}
		if rec.failed != "" {
			c.Failed = append(c.Failed,
				Failure{Folder: rec.run.Folder, Round: len(c.Runs) + len(c.Failed), Reason: rec.failed})
			continue
		}
		rec.run.Round = len(c.Runs) + len(c.Failed)
		c.Runs = append(c.Runs, rec.run)
	}
	for _, c := range s.Cells {
		c.Name = CellName(s.Axes, c.Values)
	}
	return s
}

// OnlyCell is the cell's name in a study with a single cell.
const OnlyCell = "all runs"

// CellName returns the cell's values on the axes with several values, e.g. "server=average ntrainer=2".
func CellName(axes []Axis, values []string) string {
	var parts []string
	for i, a := range axes {
		if len(a.Values) > 1 {
			parts = append(parts, a.Name+"="+values[i])
		}
	}
	return cmp.Or(strings.Join(parts, " "), OnlyCell)
}

func (rec *recorded) valueOf(keys []string) string {
	values := make([]string, len(keys))
	for i, k := range keys {
		values[i] = cmp.Or(rec.config[k], "-")
	}
	return strings.Join(values, ",")
}

// experiment returns the configuration without the build.
func (rec *recorded) experiment() map[string]string {
	config := maps.Clone(rec.config)
	delete(config, buildKey)
	return config
}

// id returns a hash of the configuration. Runs of the same configuration have the same id.
func (rec *recorded) id() string {
	keys := slices.Sorted(slices.Values(rec.order))
	h := sha256.New()
	for _, k := range keys {
		_, _ = fmt.Fprintf(h, "%q=%q\n", k, rec.config[k]) // writing to a hash never fails
	}
	return hex.EncodeToString(h.Sum(nil))[:12]
}

// axesOf returns the keys whose values differ between runs, grouped into axes. Keys that change together form one axis.
// If the value of a key follows from other keys, as a default does, the key forms no axis.
func axesOf(runs []recorded) [][]string {
	var axes [][]string
	var partitions []string // for each axis, which runs share a value
	followers := [][2]string{}
	for _, key := range keysOf(runs) {
		partition := partitionBy(runs, key)
		switch {
		case !strings.ContainsAny(partition, "123456789"): // all runs have the same value
		case !slices.ContainsFunc(runs, func(r recorded) bool { return r.chosen[key] }):
			followers = append(followers, [2]string{key, partition})
		default:
			if at := slices.Index(partitions, partition); at >= 0 {
				axes[at] = append(axes[at], key)
				continue
			}
			axes, partitions = append(axes, []string{key}), append(partitions, partition)
		}
	}
	for _, f := range followers {
		if key, partition := f[0], f[1]; !follows(runs, slices.Concat(axes...), partition) {
			axes, partitions = append(axes, []string{key}), append(partitions, partition)
		}
	}
	return axes
}

// keysOf returns all keys in the order in which they first appear in the runs.
func keysOf(runs []recorded) []string {
	var keys []string
	seen := map[string]bool{}
	for _, r := range runs {
		for _, k := range r.order {
			if !seen[k] {
				seen[k], keys = true, append(keys, k)
			}
		}
	}
	return keys
}

// partitionBy numbers the distinct values of keys and returns the number for each run. The result is "0,0,1" if the
// last of three runs has a different value.
func partitionBy(runs []recorded, keys ...string) string {
	var out strings.Builder
	numbers := map[string]int{}
	for _, r := range runs {
		value := r.valueOf(keys)
		n, ok := numbers[value]
		if !ok {
			n = len(numbers)
			numbers[value] = n
		}
		_, _ = fmt.Fprintf(&out, ",%d", n)
	}
	return out.String()[1:]
}

// follows reports whether runs with equal values of keys always lie in the same class of the partition.
func follows(runs []recorded, keys []string, partition string) bool {
	classes := map[string]string{}
	for i, class := range strings.Split(partition, ",") {
		value := runs[i].valueOf(keys)
		if c, ok := classes[value]; ok && c != class {
			return false
		}
		classes[value] = class
	}
	return true
}
