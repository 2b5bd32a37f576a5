// Package comm writes the result of psbench comm as text.
package comm

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/psbench/psbench/core/measure/micro"
	"github.com/psbench/psbench/core/show/environment"
	"github.com/psbench/psbench/core/show/report"
	"github.com/psbench/psbench/internal/bytesize"
	"github.com/psbench/psbench/internal/comm/bench"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/screen"
)

// Text writes r, with a table of rows for each operation at the end. A full report starts with the machine's limits
// and the meaning of the columns. A summary has no heading.
func Text(w io.Writer, r *micro.Result, o report.Options) error {
	out := &screen.Page{Width: o.Width}
	if o.Report != report.Summary {
		heading(out, r)
	}
	if !r.Complete {
		out.Line(0, "")
		out.Line(2, "INCOMPLETE: "+r.Error)
	}
	if o.Report == report.Full {
		if err := background(out, r); err != nil {
			return err
		}
	}
	for _, name := range operationsOf(r) {
		if err := operationTable(out, r, name); err != nil {
			return err
		}
	}
	var closing []string
	if noise := environment.Noise(r.Noise); noise != "" {
		closing = append(closing, "noise: "+noise)
	}
	if o.Report == "" || o.Report == report.Table {
		closing = append(closing, "more: --report full says what the columns mean and what the machine can do")
	}
	for _, warning := range r.Warnings {
		closing = append(closing, "warning: "+warning)
	}
	if len(closing) > 0 {
		out.Line(0, "")
	}
	for _, line := range closing {
		out.Line(2, line)
	}
	_, err := out.WriteTo(w)
	return err
}

func heading(w *screen.Page, r *micro.Result) {
	e := r.Environment
	started := r.Started.UTC().Format(time.RFC3339)
	w.Line(2, fmt.Sprintf("psbench %s, commit %s, %s, %s", e.Psbench, e.Commit, e.Go, started))
	w.Line(2, environment.Machine(e))
	if joined := environment.Links(r.Links); joined != "" {
		w.Line(2, "links: "+joined)
	}
	if r.Placement != nil && len(r.Placement.Hosts) > 1 {
		w.Line(2, "hosts: "+environment.Hosts(r.Placement))
	}
	environment.HostLinks(w, r.HostLinks)
}

// background writes the conditions of the measurement.
func background(w *screen.Page, r *micro.Result) error {
	if err := environment.NoiseTables(w, r.Noise); err != nil {
		return err
	}
	if r.Placement != nil {
		w.Line(0, "")
		if err := environment.Placement(w, r.Placement); err != nil {
			return err
		}
	}
	if err := limitTable(w, r); err != nil {
		return err
	}
	explain(w, r)
	if len(r.Plugins) > 0 {
		w.Line(0, "")
	}
	for _, p := range r.Plugins {
		w.Line(2, environment.Plugin(p))
	}
	return nil
}

// rowColumns are the columns of a row whose values the title does not state.
var rowColumns = []screen.Column{
	screen.Left("transport"), screen.Left("mode"), screen.Left("place"), screen.Left("type"),
	screen.Right("size"), screen.Right("rounds").Yields(1),
	screen.Right("p50 µs"), screen.Right("p95 µs").Yields(4), screen.Right("min µs").Yields(2),
	screen.Right("algbw GB/s").Yields(5), screen.Right("busbw GB/s"), screen.Right("share").Yields(3),
}

// typeColumn is the place of the element type. Tables of float32 alone omit the column.
const typeColumn = 3

// operationsOf lists the operations that have rows, in the order of their first rows.
func operationsOf(r *micro.Result) []string {
	var names []string
	for _, row := range r.Rows {
		if !slices.Contains(names, row.Operation) {
			names = append(names, row.Operation)
		}
	}
	return names
}

func operationTable(w *screen.Page, r *micro.Result, operation string) error {
	heading := ""
	var cells [][]string
	var void []*micro.Row
	var verified []string
	typed := false
	for _, row := range r.Rows {
		if row.Operation != operation {
			continue
		}
		if heading == "" {
			heading = title(row)
		}
		cells, typed = append(cells, cellsOf(row)), typed || row.DType != ""
		if row.Void() {
			void = append(void, row)
		} else if text := verifiedText(row); row.Bytes > 0 && !slices.Contains(verified, text) {
			verified = append(verified, text)
		}
	}
	w.Line(0, "")
	w.Line(2, heading)
	columns := rowColumns
	if !typed {
		columns = slices.Delete(slices.Clone(columns), typeColumn, typeColumn+1)
		for i := range cells {
			cells[i] = slices.Delete(cells[i], typeColumn, typeColumn+1)
		}
	}
	if err := w.Grid(columns, cells, false); err != nil {
		return err
	}
	if verified != nil {
		w.Line(2, "verified: "+strings.Join(verified, ", "))
	}
	for _, row := range void {
		size := bytesize.Format(row.Bytes)
		if row.DType != "" {
			size += " of " + row.DType.String()
		}
		w.Line(2, fmt.Sprintf("VOID: %s over %s, %s, %s: %s", size, row.Transport, row.Mode, row.Place, row.Mismatch))
	}
	return nil
}

// verifiedText states which rounds of the row were verified, or why no round was.
func verifiedText(r *micro.Row) string {
	text := fmt.Sprintf("%s rows %s", r.Mode, verifiedTexts[r.Verified])
	if r.Unchecked != "" {
		text += " (" + quote.Lines(r.Unchecked) + ")"
	}
	return text
}

// verifiedTexts complete the sentence "verified: fresh rows ...".
var verifiedTexts = map[micro.Verified]string{
	micro.EveryRound: "in every round",
	micro.LeadIn:     "in the fresh round before each turn alone",
	micro.NoRound:    "not at all",
}

// title returns the values that all rows of an operation share.
func title(r *micro.Row) string {
	text := r.Operation
	if r.Hook != "" {
		text += " " + r.Hook
	}
	if r.Servers > 0 {
		trainers, servers := screen.Count(r.Trainers, "trainer"), screen.Count(r.Servers, "server")
		text += fmt.Sprintf(", server %s, %s, %s", r.Server, trainers, servers)
		if r.Aggregate != "" {
			text += ", aggregate " + quote.Word(r.Aggregate)
		}
	} else {
		text += ", " + screen.Count(r.Trainers, "trainer")
	}
	if r.Sparse {
		text += fmt.Sprintf(", sparse: rows of %d elements, density %v", r.Width, r.Density)
	}
	return text
}

func cellsOf(r *micro.Row) []string {
	cells := []string{r.Transport, string(r.Mode), string(r.Place), r.DType.String(), bytesize.Format(r.Bytes),
		strconv.Itoa(r.Rounds)}
	if r.Void() {
		return append(cells, "VOID", "", "", "", "", "")
	}
	if r.Bytes == 0 {
		cells[2], cells[3], cells[4] = "-", "-", "-"
	}
	for _, us := range []float64{r.P50US, r.P95US, r.MinUS} {
		cells = append(cells, decimals(us))
	}
	if r.Bytes == 0 {
		return append(cells, "-", "-", "-")
	}
	share := "-"
	if r.Share > 0 {
		share = fmt.Sprintf("%.0f %%", 100*r.Share)
	}
	return append(cells, decimals(r.AlgbwGBps), decimals(r.BusbwGBps), share)
}

func decimals(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) }

// terms explain the letters in the operations' explanations: first for dense buckets, then for sparse ones.
var terms = [2]string{
	"S is the size, T the number of trainers.",
	"P are the bytes of the rows that one rank pushes, U those of their union, T is the number of trainers.",
}

// Explanations of the other columns.
const (
	aboutUnits    = "p50, p95 and min are over all rounds of all ranks. GB = 10^9 bytes."
	shareOfMemory = "share on shm: bytes read plus written per second, " +
		"over those of memcpy by all cores, source dirty, footprint T*S"
	movedCopies = "  copies out of the heap and back move 4T*S more"
	shareOfTCP  = "share on other transports: bytes received by all ranks " +
		"over those of loopback TCP, T connections, both ways"
)

// explain writes the meaning of the columns of these rows.
func explain(w *screen.Page, r *micro.Result) {
	any := func(is func(*micro.Row) bool) bool { return slices.ContainsFunc(r.Rows, is) }
	if !any(func(row *micro.Row) bool { return row.Bytes > 0 }) {
		return
	}
	kind := 0
	if any(func(row *micro.Row) bool { return row.Sparse }) {
		kind = 1
	}
	lines := []string{terms[kind], aboutUnits}
	var operations []*bench.Operation
	for _, name := range operationsOf(r) {
		if o := bench.Find(name); o != nil && !o.Empty {
			operations = append(operations, o)
			lines = append(lines, o.Name+": "+o.Bandwidths[kind])
		}
	}
	reaches := func(mapped bool) bool {
		return any(func(row *micro.Row) bool { return row.Share > 0 && row.Mapped == mapped })
	}
	if reaches(true) {
		lines = append(lines, shareOfMemory)
		for _, o := range operations {
			if o.Moves != "" {
				lines = append(lines, "  "+o.Name+" moves "+o.Moves)
			}
		}
		if any(func(row *micro.Row) bool { return row.Place == micro.Copied }) {
			lines = append(lines, movedCopies)
		}
	}
	if reaches(false) {
		lines = append(lines, shareOfTCP)
	}
	w.Line(0, "")
	for _, line := range lines {
		w.Line(4, line)
	}
}

func limitTable(w *screen.Page, r *micro.Result) error {
	if len(r.Limits) == 0 {
		return nil
	}
	var cells [][]string
	for _, l := range r.Limits {
		row := []string{l.Name, "-", "-", decimals(l.GBps)}
		if l.Bytes > 0 {
			row[1], row[2] = bytesize.Format(l.Bytes), strconv.Itoa(l.Cores)
		}
		cells = append(cells, row)
	}
	w.Line(0, "")
	w.Line(2, "limits of the machine: bytes copied or received per second")
	columns := []screen.Column{
		screen.Left("limit"), screen.Right("footprint"), screen.Right("cores"), screen.Right("GB/s"),
	}
	return w.Grid(columns, cells, false)
}
