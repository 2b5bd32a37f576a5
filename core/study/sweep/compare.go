package sweep

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Difference describes how a plan differs from the sweep's recorded plan.
type Difference struct {
	// Changed lists changed values and changed checksums of binaries, in cells that both plans have.
	Changed []Change
	// Added and Removed list the names of cells with runs that are in only one of the plans.
	Added, Removed []string
	// Repeats, Baseline, Again and Hosts hold changes of the plan itself. nil means no change.
	Repeats, Baseline, Again, Hosts *Change
}

// Change is a value in the recorded plan and in the new plan.
type Change struct {
	Name     string   // a configuration key, a part or the name of a binary
	Old, New string   // "" if absent
	Cells    []string // names of the cells that have the change
}

// Compare returns how the plan now differs from the recorded plan p.
func (p *Plan) Compare(now *Plan) Difference {
	var d Difference
	before := map[string]Cell{} // recorded cells by ID and by name
	for _, i := range p.Running() {
		c := p.Cells[i]
		before[c.ID], before[c.Name] = c, c
	}
	kept := map[string]bool{} // IDs of recorded cells that still exist
	changes := map[string]*Change{}
	for _, i := range now.Running() {
		c := now.Cells[i]
		if _, same := before[c.ID]; same {
			kept[c.ID] = true
		} else if old, changed := before[c.Name]; changed {
			kept[old.ID] = true
			compareCells(changes, c.Name, p.flat(old), now.flat(c))
		} else {
			d.Added = append(d.Added, c.Name)
		}
	}
	for _, i := range p.Running() {
		if c := p.Cells[i]; !kept[c.ID] {
			d.Removed = append(d.Removed, c.Name)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(changes)) {
		d.Changed = append(d.Changed, *changes[key])
	}
	d.Repeats = change("repeats", fmt.Sprint(p.Repeats), fmt.Sprint(now.Repeats))
	d.Again = change("again", fmt.Sprint(p.Again), fmt.Sprint(now.Again))
	d.Hosts = change("hosts", orNone(strings.Join(p.Hosts, ", ")), orNone(strings.Join(now.Hosts, ", ")))
	if before, after := p.Cells[p.Baseline], now.Cells[now.Baseline]; before.ID != after.ID &&
		before.Name != after.Name {
		d.Baseline = change("baseline", before.Name, after.Name)
	}
	return d
}

// None reports whether both plans make the same runs.
func (d Difference) None() bool { return d.Extends() && d.Repeats == nil && len(d.Added) == 0 }

// Extends reports whether the new plan differs only in added cells or in the number of repeats.
func (d Difference) Extends() bool {
	return len(d.Changed)+len(d.Removed) == 0 && d.Baseline == nil && d.Again == nil && d.Hosts == nil
}

// Lines describes the difference for people, with one sentence per change.
func (d Difference) Lines() []string {
	var lines []string
	for _, c := range d.Changed {
		line := fmt.Sprintf("%s was %s and is %s", c.Name, orNone(c.Old), orNone(c.New))
		if len(c.Cells) > 0 {
			line += " in " + someOf(c.Cells)
		}
		lines = append(lines, line)
	}
	for _, c := range []*Change{d.Repeats, d.Baseline, d.Again, d.Hosts} {
		if c != nil {
			lines = append(lines, fmt.Sprintf("%s was %s and is %s", c.Name, c.Old, c.New))
		}
	}
	for _, set := range []struct {
		what  string
		cells []string
	}{{"removed", d.Removed}, {"added", d.Added}} {
		if len(set.cells) > 0 {
			lines = append(lines, set.what+": "+someOf(set.cells))
		}
	}
	return lines
}

func orNone(value string) string {
	if value == "" {
		return "nothing"
	}
	return value
}

// someOf names all cells if there are at most three. Otherwise it gives their number and the first name.
func someOf(cells []string) string {
	const most = 3
	if len(cells) == 1 {
		return "cell " + cells[0]
	}
	if len(cells) <= most {
		return "cells " + strings.Join(cells, "; ")
	}
	return fmt.Sprintf("%d cells, of which the first is %s", len(cells), cells[0])
}

func change(name, before, now string) *Change {
	if before == now {
		return nil
	}
	return &Change{Name: name, Old: before, New: now}
}

// compareCells records how a cell's values changed. Cells with the same change share one entry.
func compareCells(changes map[string]*Change, cell string, was, is map[string]string) {
	all := maps.Clone(was)
	maps.Copy(all, is)
	for key := range all {
		if was[key] == is[key] {
			continue
		}
		id := strings.Join([]string{key, was[key], is[key]}, "\x00")
		if changes[id] == nil {
			changes[id] = &Change{Name: key, Old: was[key], New: is[key]}
		}
		changes[id].Cells = append(changes[id].Cells, cell)
	}
}

// flat returns every value that enters the identity of a cell, by key.
func (p *Plan) flat(c Cell) map[string]string {
	out := map[string]string{}
	for _, kind := range []string{"model", "data"} { // the configuration names these parts by ID
		out["class of "+kind] = c.Parts[kind]
	}
	for name, words := range c.Parts {
		if strings.HasPrefix(name, pluginPrefix) {
			out[name] = words
		}
	}
	for _, b := range p.Binaries {
		if b.Path == c.Binary || slices.Contains(c.Plugins, b.Path) {
			out["binary "+b.Name] = "sha256 " + b.SHA256[:12]
		}
	}
	for key, value := range c.Config {
		if kinds, ok := value.(map[string]any); ok && key == "set" {
			for kind, settings := range kinds {
				settings, _ := settings.(map[string]any)
				for name, value := range settings {
					out[kind+"."+name] = show(value)
				}
			}
		} else if !slices.Contains(places, key) {
			out[key] = show(value)
		}
	}
	return out
}

// show returns a value as JSON.
func show(v any) string {
	text, err := json.Marshal(canonical(v))
	if err != nil {
		panic(err) // values read from JSON encode as JSON
	}
	return string(text)
}
