package study

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/psbench/psbench/core/micro"
	"github.com/psbench/psbench/internal/quote"
)

// recordRows is what is kept of a result of psbench comm: each of its rows is a run of a cell of its own,
// and several results have several runs of each.
func recordRows(path string, r *micro.Result) ([]recorded, error) {
	if len(r.Rows) == 0 {
		return nil, fmt.Errorf("%s has no rows: %s", quote.Word(path), quote.Message(cmp.Or(r.Error, "nothing was measured")))
	}
	early := ""
	if !r.Complete {
		early = fmt.Sprintf("%s is incomplete: %s", quote.Word(path), quote.Message(r.Error))
	}
	var rows []recorded
	for _, row := range r.Rows {
		rec := recorded{comm: true, early: early, config: map[string]string{}, chosen: map[string]bool{}, run: &Run{
			Folder: path, Started: r.Started, Values: map[string]float64{}, Environment: r.Environment, Warnings: r.Warnings,
		}}
		for name, v := range map[string]float64{CommTime: row.P50US, CommTimeP95: row.P95US, "algbw": row.AlgbwGBps, "busbw": row.BusbwGBps} {
			if v > 0 {
				rec.run.Values[name] = v
			}
		}
		for _, kv := range [][2]string{
			{"operation", row.Operation}, {"server", row.Server}, {"ddp_hook", row.Hook}, {"transport", row.Transport},
			{"ntrainer", strconv.Itoa(row.Trainers)}, {"nserver", strconv.Itoa(row.Servers)}, {"mode", string(row.Mode)},
			{"place", string(row.Place)}, {"sparse", strconv.FormatBool(row.Sparse)}, {"bytes", strconv.Itoa(row.Bytes)},
		} {
			rec.add(kv[0], kv[1], true)
		}
		if row.Sparse {
			rec.add("width", strconv.Itoa(row.Width), true)
			rec.add("density", strconv.FormatFloat(row.Density, 'g', -1, 64), true)
		}
		rec.add(buildKey, r.Environment.Commit, true)
		if row.Void() {
			rec.failed = row.Mismatch
		}
		rows = append(rows, rec)
	}
	return rows, nil
}
