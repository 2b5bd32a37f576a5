package micro

import (
	"bytes"
	"fmt"
	"io"

	"github.com/psbench/psbench/core/record/stats"
	"github.com/psbench/psbench/internal/bytesize"
)

// GoBench writes r in the Go benchmark format, with one line for each turn of a row. A line has the median latency as
// ns/op, then p95, the minimum, and values derived from the median. A void row has a VOID line instead. The key
// verified holds for all lines below it.
func GoBench(w io.Writer, r *Result) error {
	out := new(bytes.Buffer)
	e := r.Environment
	fmt.Fprintf(out, "goos: %s\ngoarch: %s\npkg: github.com/psbench/psbench\ncpu: %s\n", e.OS, e.Arch, e.CPU)
	verified := Verified("")
	for _, row := range r.Rows {
		if row.Void() {
			fmt.Fprintf(out, "VOID: %s: %s\n", row.benchName(), row.Mismatch)
			continue
		}
		if row.Verified != verified {
			verified = row.Verified
			fmt.Fprintf(out, "verified: %s\n", verified)
		}
		for i := range row.LatenciesUS {
			s := stats.Summarize(row.LatenciesUS[i])
			fmt.Fprintf(out, "%s %d %.0f ns/op %.0f p95-ns %.0f min-ns", row.benchName(), s.Count/row.Trainers,
				s.P50*1e3, s.P95*1e3, s.Min*1e3)
			if row.Bytes > 0 {
				fmt.Fprintf(out, " %.4g algbw-GB/s %.4g busbw-GB/s", rate(row.volume.Alg, s.P50),
					rate(row.volume.Bus, s.P50))
			}
			fmt.Fprintln(out)
		}
	}
	if !r.Complete {
		fmt.Fprintf(out, "INCOMPLETE: %s\n", r.Error)
	}
	_, err := out.WriteTo(w)
	return err
}

// benchName returns a benchmark name with every key that distinguishes rows.
func (r *Row) benchName() string {
	server, kind := r.Server, "dense"
	if server == "" {
		server = "none"
	}
	if r.Sparse {
		kind = "sparse"
	}
	operation := r.Operation
	if r.Hook != "" {
		operation += "/hook=" + r.Hook
	}
	if r.Aggregate != "" {
		operation += "/aggregate=" + r.Aggregate
	}
	return fmt.Sprintf(
		"BenchmarkComm/op=%s/server=%s/transport=%s/trainers=%d/servers=%d/mode=%s/place=%s/kind=%s/size=%s",
		operation, server, r.Transport, r.Trainers, r.Servers, r.Mode, r.Place, kind, bytesize.Format(r.Bytes))
}
