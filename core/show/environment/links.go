package environment

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/screen"
)

// Links lists the links of each transport, e.g. "shm trainer0-trainer1; tcp trainer0-server3".
func Links(all []result.Links) string {
	var kinds []string
	for _, l := range all {
		kinds = append(kinds, l.Transport+" "+l.Ends())
	}
	return strings.Join(kinds, "; ")
}

// HostLinks writes the measured speed of the links between hosts.
func HostLinks(w *screen.Page, links []result.HostLink) {
	for _, l := range links {
		w.Line(2, fmt.Sprintf("link %s – %s: %s GB/s out, %s GB/s back, round trip %s µs (bare sockets)",
			quote.Word(l.From), quote.Word(l.To), strconv.FormatFloat(l.OutGBps, 'f', 3, 64),
			strconv.FormatFloat(l.BackGBps, 'f', 3, 64), fixed(l.RoundTripUS)))
	}
}

// Clocks writes the clock offset and the clock drift of each other host.
func Clocks(w *screen.Page, clocks []result.HostClock) {
	for _, c := range clocks {
		w.Line(2, fmt.Sprintf("%s: its clock is %.6f s ahead%s, and gains %.3g µs each second", quote.Word(c.Host),
			float64(c.OffsetNS)/1e9, screen.GiveOrTake(float64(c.BoundNS)/1e6), c.Drift*1e6))
	}
}
