package sweep

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
)

// places lists the options that hold a path. The identity of a cell depends on the content there, not on the path.
var places = []string{"config", "registry", "no_user_registry", "model_config_path", "data_config_path",
	"server_config_path", "trainer_config_path"}

// Identify computes the ID of every cell, then the identity of the plan.
func (p *Plan) Identify() {
	sums := p.sums()
	for i := range p.Cells {
		p.Cells[i].ID = p.Cells[i].identity(sums)
	}
	p.Identity = p.identity()
}

// sums returns the checksums of the binaries by path.
func (p *Plan) sums() map[string]string {
	sums := map[string]string{}
	for _, b := range p.Binaries {
		sums[b.Path] = b.SHA256
	}
	return sums
}

// identity returns a hash of everything that the plan runs. The order of cells does not matter.
func (p *Plan) identity() string {
	var ids []string
	for _, i := range p.Running() {
		ids = append(ids, p.Cells[i].ID)
	}
	slices.Sort(ids)
	if p.Again {
		ids = append(ids, AgainID, p.Cells[p.Baseline].ID)
	}
	return hash(ids)
}

// identity returns a hash of the cell's experiment. For a cell that does not run, it is a hash of the name.
func (c Cell) identity(sums map[string]string) string {
	if !c.Runs() {
		return short([]any{"no runs", c.Name})
	}
	return short(c.experiment(sums))
}

// experiment returns the values that are equal for two cells exactly if their experiments are equal.
func (c Cell) experiment(sums map[string]string) any {
	config := maps.Clone(c.Config)
	for _, key := range places {
		delete(config, key)
	}
	plugins := make([]string, len(c.Plugins))
	for i, path := range c.Plugins {
		plugins[i] = sums[path]
	}
	slices.Sort(plugins)
	return []any{canonical(config), c.Parts, sums[c.Binary], plugins}
}

// canonical returns v with a single spelling for equal numbers.
func canonical(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, value := range v {
			out[key] = canonical(value)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, value := range v {
			out[i] = canonical(value)
		}
		return out
	case json.Number:
		if _, err := strconv.ParseUint(string(v), 10, 64); err == nil {
			return v
		}
		f, err := v.Float64()
		if err != nil {
			return v
		}
		return json.Number(strconv.FormatFloat(f, 'g', -1, 64))
	}
	return v
}

func short(v any) string { return hash(v)[:16] }

// hash returns the SHA-256 of v's JSON in hex. The keys of JSON objects are sorted.
func hash(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // values read from JSON encode as JSON
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
