package main

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/psbench/psbench/internal/comm/fabric"
	"github.com/psbench/psbench/internal/comm/fabric/bare"
	"github.com/psbench/psbench/internal/comm/fabric/delayed"
)

// delaySeed is an environment variable. If set, the test executable has an additional fabric whose messages are
// delayed according to this seed. Plugin processes inherit the variable.
const delaySeed = "TEST_DELAY_SEED"

// besideBare is an environment variable. If set, the test executable also has bare sockets as a baseline.
const besideBare = "TEST_BARE"

// extendFabrics adds these fabrics to the table of fabrics.
func extendFabrics() {
	if seed, err := strconv.ParseUint(os.Getenv(delaySeed), 10, 64); err == nil {
		fabric.Extend(delayed.New(seed))
	}
	if os.Getenv(besideBare) != "" {
		fabrics, err := bare.New()
		if err != nil {
			panic(err)
		}
		for _, f := range fabrics {
			fabric.Extend(f)
		}
	}
}

// A transport is just a package and a line in a table. Every reference case agrees over a transport that psbench does
// not ship. The messages of this transport arrive late and in a different order each time.
func TestVerifyOverATransportThatDelays(t *testing.T) {
	seeds, forms := []string{"1"}, []string{"", "--isolate all --set trainer.bucket_bytes=512"}
	if testing.Short() || raceDetector {
		forms = forms[1:]
	} else {
		seeds = []string{"1", "2", "3"}
	}
	for i, seed := range seeds {
		for _, form := range forms[min(i, len(forms)-1):] { // each seed with many messages, one seed also with few
			t.Run(strings.TrimSpace("seed "+seed+" "+form), func(t *testing.T) {
				args := append([]string{"psbench", "verify", "--transport", delayed.Name}, strings.Fields(form)...)
				cmd := &exec.Cmd{Path: "/proc/self/exe", Args: args, Env: append(os.Environ(), delaySeed+"="+seed)}
				out, err := cmd.CombinedOutput()
				if err != nil || !strings.Contains(string(out), "13 of 13 cases agree") {
					t.Errorf("%v\n%s", err, out)
				}
			})
		}
	}
}

// psbench comm alternates between a transport and bare sockets, and the all-reduce over bare sockets is correct.
func TestCommBesideBareSockets(t *testing.T) {
	args :=
		strings.Fields("psbench comm --transport tcp,bare,baretls --expect any --sizes 4K,2M --rounds 5 --repeat 1 --no-limits --quiet --ntrainer 3")
	cmd := &exec.Cmd{Path: "/proc/self/exe", Args: args, Env: append(os.Environ(), besideBare+"=1")}
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Count(string(out), "| baretls ") != 4 || strings.Contains(string(out), "VOID") {
		t.Errorf("%v\n%s", err, out)
	}
}

// Without the variable the delayed transport does not exist.
func TestDelaysAreNotShipped(t *testing.T) {
	status, _, stderr := psbenchMain(t, "config", "--transport", delayed.Name)
	if status == 0 || !strings.Contains(stderr, `--transport is "delayed" but must be auto, `) {
		t.Errorf("exit status %d, error %q", status, stderr)
	}
}
