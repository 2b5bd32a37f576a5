package report

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/core/record/breakdown"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/screen"
)

// times writes how the time of iterations splits into parts, the straggler, and the time of each bucket.
func times(w *screen.Page, r *result.Result, b *breakdown.Breakdown) {
	if b == nil {
		return
	}
	digits := precision(b)
	ms := func(ns int64, of int) string {
		return strconv.FormatFloat(float64(ns)/float64(max(1, of))/1e6, 'f', digits, 64)
	}
	w.Line(0, "")
	w.Title("where the time goes")
	var rows [][]string
	for _, p := range b.Times() {
		rows = append(rows, []string{p.Name, ms(p.TotalNS, b.Iterations), screen.Percent(b.Share(p.TotalNS))})
	}
	w.Columns([]screen.Column{screen.Left("ms per iteration" + pass(r)), screen.Right("mean"), screen.Right("share")},
		rows)
	if apart := r.ApartNS(allRanks(r)); apart > 0 {
		text := fmt.Sprintf("times between hosts are exact to%s: shorter waits count as 0",
			screen.GiveOrTake(float64(apart)/1e6))
		if b.Waiting != nil {
			text += fmt.Sprintf("; in %s the last trainer is unknown", screen.Count(b.Waiting.Close, "iteration"))
		}
		w.Line(2, text)
	}
	if s, ok := b.Straggler(); ok {
		who := fmt.Sprintf("trainer%d", s.Rank)
		for _, p := range ranksOf(r.Processes, "trainer") {
			if p.Rank == s.Rank {
				who = onHost(p)
			}
		}
		text := fmt.Sprintf("%s was last in %d of %d iterations and cost the others %s ms per iteration", who,
			s.Times, s.Iterations, ms(s.CostNS, 1))
		if len(b.Waiting.Last) > 1 {
			text += fmt.Sprintf("; all stragglers together cost %s ms", ms(s.AllNS, 1))
		}
		w.Line(2, text)
	}
	buckets(w, r, ms)
	onDevices(w, r, ms)
}

// onHost returns the name of a process. If there are several hosts it adds the host: "trainer1 on node2".
func onHost(p result.Process) string {
	if p.Host == "" {
		return p.Name
	}
	return p.Name + " on " + quote.Word(p.Host)
}

// allRanks returns the ranks of all trainers and servers.
func allRanks(r *result.Result) (ranks []int) {
	for _, p := range r.Processes {
		if p.Rank >= 0 {
			ranks = append(ranks, p.Rank)
		}
	}
	return ranks
}

// buckets writes one line per bucket that splits the time of its reductions into parts.
func buckets(w *screen.Page, r *result.Result, ms func(ns int64, of int) string) {
	all := breakdown.Buckets(r)
	if len(all) == 0 {
		return
	}
	some := func(has func(breakdown.Bucket) bool) bool { return slices.ContainsFunc(all, has) }
	hook, codec := some(func(b breakdown.Bucket) bool { return b.HookNS > 0 }), some(func(b breakdown.Bucket) bool {
		return b.CodecNS > 0
	})
	columns := []screen.Column{screen.Left("bucket, mean ms"), screen.Right("size").Yields(2),
		screen.Right("count").Yields(1), screen.Right("total")}
	if hook {
		columns = append(columns, screen.Right("hook"))
	}
	columns = append(columns, screen.Right("waiting"), screen.Right("transfer"), screen.Right("reduction"))
	if codec {
		columns = append(columns, screen.Right("codec"))
	}
	var rows [][]string
	for _, b := range all {
		row := []string{strconv.Itoa(b.Index), sizeOf(r.Buckets[b.Index]), strconv.Itoa(b.Count),
			ms(b.WholeNS(), b.Count)}
		if hook {
			row = append(row, ms(b.HookNS, b.Count))
		}
		row = append(row, ms(b.WaitingNS, b.Count), ms(b.TransferNS, b.Count), ms(b.ReductionNS, b.Count))
		if codec {
			row = append(row, ms(b.CodecNS, b.Count))
		}
		rows = append(rows, row)
	}
	w.Line(0, "")
	w.Columns(columns, rows)
}

// onDevices writes the device work of the CUDA ranks during the iterations.
func onDevices(w *screen.Page, r *result.Result, ms func(ns int64, of int) string) {
	all := breakdown.Devices(r)
	if len(all) == 0 {
		return
	}
	var rows [][]string
	for _, d := range all {
		row := []string{d.Name}
		for _, ns := range []int64{d.KernelsNS, d.CopiesNS, d.BothNS, d.WaitingNS} {
			row = append(row, ms(ns, d.Iterations))
		}
		rows = append(rows, row)
	}
	w.Line(0, "")
	w.Columns([]screen.Column{
		screen.Left("device, ms per iteration"), screen.Right("kernels"), screen.Right("copies"), screen.Right("both"),
		screen.Right("waiting"),
	}, rows)
}

// sizeOf returns the payload size of a bucket.
func sizeOf(b tensor.BucketSpec) string {
	elements := b.Elements
	if b.Sparse {
		elements = b.Capacity * b.Width
	}
	return fmt.Sprintf("%.1f KiB", float64(elements)*4/1024)
}
