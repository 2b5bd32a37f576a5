package environment

import (
	"fmt"
	"strings"
	"testing"

	"github.com/psbench/psbench/core/host/machine"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/screen"
)

// The header states every known fact about the machine and omits the unknown ones.
func TestHeaderSaysWhatIsKnownOfTheMachine(t *testing.T) {
	for want, f := range map[string]machine.Facts{
		"memory      4096 MiB\n":                       {},
		"            CPUs 0-3\nmemory      4096 MiB\n": {Affinity: "0-3"},
		"memory      4096 MiB\nlimits      1.5 CPUs\n": {Limits: &machine.Limits{CPUs: 1.5}},
		"memory      4096 MiB, copied at 12.3 GB/s by 1 core\nlimits      512 MiB of memory\n": {
			Limits: &machine.Limits{MemoryBytes: 512 << 20}, Copy: &machine.Copy{GBps: 12.34, Cores: 1},
		},
		"            governor powersave, L1d 48 KiB, L2 2048 KiB\nmemory      4096 MiB\n": {
			Governor: "powersave", Caches: []machine.Cache{{Level: 1, KiB: 48}, {Level: 2, KiB: 2048}},
		},
	} {
		t.Run(fmt.Sprintf("%.60s", want), func(t *testing.T) {
			var page screen.Page
			Information(&page, result.Environment{MemoryMiB: 4096, Facts: f})
			_, got, _ := strings.Cut(page.String(), "kernels \n")
			if got, _, _ = strings.Cut(got, "GPU "); got != want {
				t.Errorf("it says %q, want %q", got, want)
			}
		})
	}
}

func TestPlugin(t *testing.T) {
	for want, p := range map[string]result.Plugin{
		"plugin builtin: /bin/psbench, sha256 ab, contract 1.0": {Name: "builtin", Command: []string{"/bin/psbench"},
			SHA256: "ab", Contract: "1.0"},
		"plugin mine: /m -v, sha256 ab, with /bin/sh, sha256 cd, contract 1.0, checked by r.json": {
			Name: "mine", Command: []string{"/m", "-v"}, SHA256: "ab", Contract: "1.0", Registry: "r.json",
			Checked: true, Files: map[string]string{"/bin/sh": "cd"},
		},
		"plugin mine: /m, named by r.json": {Name: "mine", Command: []string{"/m"}, Registry: "r.json"},
	} {
		t.Run(fmt.Sprintf("%.60s", want), func(t *testing.T) {
			if got := Plugin(p); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}
