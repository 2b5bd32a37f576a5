package report

import (
	"strings"
	"testing"

	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/screen"
)

func TestHeaderSaysWhatElseHappensToTheData(t *testing.T) {
	for want, d := range map[string]result.Partition{
		"":                          {},
		"read again in every epoch": {Streamed: true},
		"1 sample held out":         {HeldOut: 1},
		"read again in every epoch, 2,000 samples held out": {Streamed: true, HeldOut: 2000},
	} {
		t.Run(want, func(t *testing.T) {
			r := synthetic()
			r.Data.Streamed, r.Data.HeldOut = d.Streamed, d.HeldOut
			var plain, got screen.Page
			header(&plain, synthetic())
			header(&got, r)
			const data = "2, 2 per epoch\n"
			line := data
			if want != "" {
				line += strings.Repeat(" ", 12) + want + "\n"
			}
			if got.String() != strings.Replace(plain.String(), data, line, 1) {
				t.Errorf("want %q in\n%s", want, &got)
			}
		})
	}
}
