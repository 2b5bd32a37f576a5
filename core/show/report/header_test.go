package report

import (
	"strings"
	"testing"

	"github.com/psbench/psbench/core/host/machine"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/screen"
)

func TestHeaderSaysWhatElseHappensToTheData(t *testing.T) {
	for want, d := range map[string]result.Partition{
		"":                         {},
		"read anew in every epoch": {Streamed: true},
		"1 sample held out":        {HeldOut: 1},
		"read anew in every epoch, 2,000 samples held out": {Streamed: true, HeldOut: 2000},
	} {
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
	}
}

// What is known of the machine is said, and nothing of what is not.
func TestHeaderSaysWhatIsKnownOfTheMachine(t *testing.T) {
	for want, f := range map[string]machine.Facts{
		"memory      4096 MiB\n":                       {},
		"            CPUs 0-3\nmemory      4096 MiB\n": {Affinity: "0-3"},
		"memory      4096 MiB\nlimits      1.5 CPUs\n": {Limits: &machine.Limits{CPUs: 1.5}},
		"memory      4096 MiB, which 1 core copied at 12.3 GB/s\nlimits      512 MiB of memory\n": {
			Limits: &machine.Limits{MemoryBytes: 512 << 20}, Copy: &machine.Copy{GBps: 12.34, Cores: 1},
		},
		"            governor powersave, L1d 48 KiB, L2 2048 KiB\nmemory      4096 MiB\n": {
			Governor: "powersave", Caches: []machine.Cache{{Level: 1, KiB: 48}, {Level: 2, KiB: 2048}},
		},
	} {
		var page screen.Page
		information(&page, result.Environment{MemoryMiB: 4096, Facts: f})
		_, got, _ := strings.Cut(page.String(), "kernels \n")
		if got, _, _ = strings.Cut(got, "GPU "); got != want {
			t.Errorf("it says %q, want %q", got, want)
		}
	}
}
