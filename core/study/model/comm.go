package model

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/psbench/psbench/core/measure/micro"
	"github.com/psbench/psbench/internal/quote"
)

// recordRows returns one record for each row of a psbench comm result. Each row becomes a run of its own cell. Each
// further result adds one run to each of these cells.
func recordRows(path string, r *micro.Result) ([]recorded, error) {
	if len(r.Rows) == 0 {
		return nil, fmt.Errorf("%s has no rows: %s", quote.Word(path),
			quote.Message(cmp.Or(r.Error, "nothing was measured")))
	}
	early := ""
	if !r.Complete {
		early = fmt.Sprintf("%s is incomplete: %s", quote.Word(path), quote.Message(r.Error))
	}
	var rows []recorded
	for _, row := range r.Rows {
		rec := recorded{comm: true, early: early, config: map[string]string{}, chosen: map[string]bool{}, run: &Run{
			Folder: path, Started: r.Started, Values: map[string]float64{}, Environment: r.Environment,
			Warnings: r.Warnings,
		}}
		for name, v := range map[string]float64{CommTime: row.P50US, CommTimeP95: row.P95US, "algbw": row.AlgbwGBps,
			"busbw": row.BusbwGBps} {
			if v > 0 {
				rec.run.Values[name] = v
			}
		}
		for _, kv := range configOf(row) {
			rec.add(kv[0], kv[1], true)
		}
		rec.add(buildKey, r.Environment.Commit, true)
		if row.Void() {
			rec.failed = row.Mismatch
		}
		rows = append(rows, rec)
	}
	return rows, nil
}

// configOf returns the settings that identify a row, as pairs of key and value.
func configOf(row *micro.Row) [][2]string {
	config := [][2]string{
		{"operation", row.Operation}, {"server", row.Server}, {"ddp_hook", row.Hook}, {"transport", row.Transport},
		{"ntrainer", strconv.Itoa(row.Trainers)}, {"nserver", strconv.Itoa(row.Servers)}, {"mode", string(row.Mode)},
		{"place", string(row.Place)}, {"sparse", strconv.FormatBool(row.Sparse)}, {"bytes", strconv.Itoa(row.Bytes)},
		{"dtype", row.DType.String()},
	}
	if row.Aggregate != "" {
		config = append(config, [2]string{"aggregate", row.Aggregate})
	}
	if row.Sparse {
		config = append(config, [2]string{"width", strconv.Itoa(row.Width)},
			[2]string{"density", strconv.FormatFloat(row.Density, 'g', -1, 64)})
	}
	return config
}

// HasRow reports whether the cell contains this row of the psbench comm result in folder as a run.
func (c *Cell) HasRow(folder string, row *micro.Row) bool {
	config := map[string]string{}
	for _, kv := range configOf(row) {
		config[kv[0]] = kv[1]
	}
	for _, optional := range []string{"aggregate", "width", "density"} {
		if _, has := config[optional]; !has && c.Config[optional] != "" {
			return false
		}
	}
	for key, value := range config {
		if c.Config[key] != value {
			return false
		}
	}
	return slices.ContainsFunc(c.Runs, func(r *Run) bool { return r.Folder == folder }) ||
		slices.ContainsFunc(c.Failed, func(f Failure) bool { return f.Folder == folder })
}
