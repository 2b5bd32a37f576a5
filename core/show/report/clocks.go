package report

import (
	"fmt"
	"strconv"

	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/screen"
)

// giveOrTake is how wrong a time may be that was taken by the clocks of several hosts, as it stands after that; ""
// of one that is exact.
func giveOrTake(ms float64) string {
	if ms <= 0 {
		return ""
	}
	return fmt.Sprintf(" ± %.3g ms", ms)
}

// onHost is the name of a process, with its host where there are several: "trainer1 on node2".
func onHost(p result.Process) string {
	if p.Host == "" {
		return p.Name
	}
	return p.Name + " on " + quote.Word(p.Host)
}

// HostLinks writes what the links between hosts can do.
func HostLinks(w *screen.Page, links []result.HostLink) {
	for _, l := range links {
		w.Line(2, fmt.Sprintf("link %s – %s: %s GB/s there, %s GB/s back, a round trip of %s µs, by bare sockets",
			quote.Word(l.From), quote.Word(l.To), strconv.FormatFloat(l.OutGBps, 'f', 3, 64), strconv.FormatFloat(l.BackGBps, 'f', 3, 64), fixed(l.RoundTripUS)))
	}
}

// hostClocks writes how the clocks of other hosts went.
func hostClocks(w *screen.Page, r *result.Result) {
	for _, c := range r.Clocks {
		w.Line(2, fmt.Sprintf("%s: its clock is %.6f s ahead%s, and gains %.3g µs each second", quote.Word(c.Host), float64(c.OffsetNS)/1e9, giveOrTake(float64(c.BoundNS)/1e6), c.Drift*1e6))
	}
}
