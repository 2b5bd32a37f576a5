package micro

import (
	"fmt"
	"math"
	"slices"

	"github.com/psbench/psbench/core/host/jsonfile"
	"github.com/psbench/psbench/core/record/folder"
	"github.com/psbench/psbench/core/record/folder/npy"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/comm/bench"
	"github.com/psbench/psbench/internal/quote"
)

// FolderSchema is the format name of result.json in a run folder. A column file next to result.json holds the latencies
// of all rows, one row after the other.
const FolderSchema = "psbench.comm/3"

const latencyColumn = "rows.latency_us"

// sampledFile is a Result in the form of a folder's result.json.
type sampledFile struct {
	plainResult
	Rows    []sampledRow `json:"rows"`
	Samples []npy.File   `json:"samples"`
	npy.Seal
}

type plainResult Result

// sampledRow is a Row in the form of a folder's result.json. Its latencies are in a column, and it has the numbers from
// which rates are computed.
type sampledRow struct {
	plainRow
	LatenciesUS   *struct{} `json:"latencies_us_by_repeat,omitempty"`
	AlgBytes      float64   `json:"alg_bytes"`      // bytes that algbw counts
	BusBytes      float64   `json:"bus_bytes"`      // bytes that busbw counts
	ReceivedBytes float64   `json:"received_bytes"` // bytes that all ranks receive, if frames carry the operation
	Mapped        bool      `json:"mapped"`         // the buckets lie in memory that ranks map
	Width         int       `json:"width,omitempty"`
	Density       float64   `json:"density,omitempty"`
	// Turns holds the position of each turn's latencies in the column.
	Turns []result.Range `json:"turns"`
}

type plainRow Row

// State implements folder.Result.
func (r *Result) State() (complete bool, reason string) { return r.Complete, r.Error }

// Columns returns the latencies of r as columns.
func (r *Result) Columns() []npy.Column {
	count := 0
	for _, row := range r.Rows {
		for _, turn := range row.LatenciesUS {
			count += len(turn)
		}
	}
	return []npy.Column{{Name: latencyColumn, Count: count, Floats: func(yield func(float64) bool) {
		for _, row := range r.Rows {
			for us := range slices.Values(slices.Concat(row.LatenciesUS...)) {
				if !yield(us) {
					return
				}
			}
		}
	}}}
}

// EncodeHead returns r as JSON. It refers to the given files instead of containing the latencies.
func (r *Result) EncodeHead(files []npy.File) ([]byte, error) {
	f := sampledFile{plainResult: plainResult(*r), Rows: []sampledRow{}, Samples: files}
	f.Schema = FolderSchema
	next := 0
	for _, row := range r.Rows {
		s := sampledRow{
			plainRow: plainRow(*row), AlgBytes: row.volume.Alg, BusBytes: row.volume.Bus,
			ReceivedBytes: row.volume.Received,
			Mapped:        row.Mapped, Width: row.Width, Density: row.Density, Turns: []result.Range{},
		}
		for _, turn := range row.LatenciesUS {
			s.Turns = append(s.Turns, result.Range{First: next, Count: len(turn)})
			next += len(turn)
		}
		f.Rows = append(f.Rows, s)
	}
	return npy.Sealed(&f, &f.Seal)
}

// ReadFolder reads the folder of a psbench comm run and computes the tables from its latencies.
func ReadFolder(dir string) (*Result, error) {
	h, err := folder.Load(dir, parseHead)
	if err != nil {
		return nil, err
	}
	return h.result, nil
}

// head is a Result without latencies.
type head struct {
	result *Result
	files  []npy.File
	turns  [][]result.Range // turns of each row
}

func parseHead(data []byte) (*head, error) {
	var f sampledFile
	if err := jsonfile.Decode("", data, &f); err != nil {
		return nil, err
	}
	if f.Schema != FolderSchema {
		return nil, fmt.Errorf("schema is %s, but this psbench reads %q of comm in a run folder",
			quote.String(f.Schema), FolderSchema)
	}
	if err := f.Check(data); err != nil {
		return nil, err
	}
	r := Result(f.plainResult)
	h := &head{result: &r, files: f.Samples}
	r.Schema, r.Rows = Schema, []*Row{}
	for i, s := range f.Rows {
		row := Row(s.plainRow)
		if bench.Find(row.Operation) == nil || row.Bytes < 0 || row.Trainers < 1 {
			return nil, fmt.Errorf("row %d is of operation %s with %d bytes and %d trainers, which cannot be", i,
				quote.Word(row.Operation), row.Bytes, row.Trainers)
		}
		row.LatenciesUS = nil
		row.volume = bench.Volume{Alg: s.AlgBytes, Bus: s.BusBytes, Received: s.ReceivedBytes, Moved: row.MovedBytes}
		row.Mapped, row.Width, row.Density = s.Mapped, s.Width, s.Density
		r.Rows, h.turns = append(r.Rows, &row), append(h.turns, s.Turns)
	}
	return h, result.CheckSpans("turn", slices.Concat(h.turns...))
}

// Files implements folder.Document.
func (h *head) Files() []npy.File { return h.files }

// Interrupted implements folder.Document.
func (h *head) Interrupted(reason string) {
	if h.result.Complete {
		h.result.Complete, h.result.Error = false, reason
	}
}

// Fill implements folder.Document.
func (h *head) Fill(c *npy.Columns) error {
	count := 0
	for _, turn := range slices.Concat(h.turns...) {
		count += turn.Count
	}
	next := c.Floats(latencyColumn, count)
	if err := c.Err(); err != nil {
		return err
	}
	for i, row := range h.result.Rows {
		for _, turn := range h.turns[i] {
			latencies := make([]float64, turn.Count)
			for n := range latencies {
				if latencies[n] = next(); !(latencies[n] >= 0 && latencies[n] <= math.MaxFloat64) {
					return fmt.Errorf("row %d: a latency is %v", i, latencies[n])
				}
			}
			row.LatenciesUS = append(row.LatenciesUS, latencies)
		}
		row.summarize()
		h.result.shareAgain(row)
	}
	return c.Check()
}
