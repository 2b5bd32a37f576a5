//go:build !race

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/psbench/psbench/core/host/noise"
)

// busyLoops keeps all cores busy until the caller calls stop, which returns the CPU time that the loops used.
func busyLoops(t *testing.T) (stop func() time.Duration) {
	t.Helper()
	var loops []*exec.Cmd
	for range runtime.NumCPU() {
		// the loop ends with the test, however the test ends
		loop := exec.Command("sh", "-c", "while kill -0 $PPID; do :; done")
		if err := loop.Start(); err != nil {
			t.Fatal(err)
		}
		loops = append(loops, loop)
	}
	stop = func() (used time.Duration) {
		for _, loop := range loops {
			_ = loop.Process.Kill()
			_ = loop.Wait()
			used += loop.ProcessState.UserTime() + loop.ProcessState.SystemTime()
		}
		loops = nil
		return used
	}
	t.Cleanup(func() { stop() })
	return stop
}

// A result counts the CPU time of other programs during a run or psbench comm, and warns about it.
func TestOthersAreTold(t *testing.T) {
	for _, args := range []string{
		"--quiet --epochs 40 --set model.dense_layers_count=1",
		"comm allreduce --quiet --sizes 1M --no-limits",
	} {
		t.Run(args, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "result.json")
			stop := busyLoops(t)
			if code, _, stderr := psbenchMain(t, append(strings.Fields(args), "--json", file)...); code != 0 {
				t.Fatalf("psbench %s: %s", args, stderr)
			}
			loops := stop()
			text, err := os.ReadFile(file)
			var result struct {
				Noise    []noise.Interval
				Warnings []string
			}
			if err == nil {
				err = json.Unmarshal(text, &result)
			}
			i := noise.Find(result.Noise, noise.Measured)
			if err != nil || i == nil || i.Machine == nil || i.Load == nil {
				t.Fatalf("psbench %s tells %+v, %v", args, result, err)
			}
			others, all := time.Duration(0), time.Duration(0)
			for _, i := range result.Noise {
				others += i.Machine.Others + i.Machine.Uncertainty
				all += i.Duration * time.Duration(i.Machine.Cores)
			}
			if others < loops/2 { // the loops ran a little longer than the intervals
				t.Errorf("psbench %s: others took %v of %v, but the loops alone %v", args, others, all, loops)
			}
			// The loops get less CPU time only if a quota limits this test.
			if told := slices.ContainsFunc(result.Warnings,
				func(w string) bool { return strings.HasPrefix(w, "other processes took ") }); loops > all/5 && !told {
				t.Errorf("psbench %s: nobody says that the loops took %v of %v: %q", args, loops, all, result.Warnings)
			}
			for _, name := range []string{"core", "supervisor", "trainer0", "trainer1"} {
				k := slices.IndexFunc(i.Processes, func(p noise.Usage) bool { return p.Name == name })
				if k < 0 || i.Processes[k].VoluntarySwitches == nil || name == "trainer0" && i.Processes[k].CPU <= 0 {
					t.Errorf("psbench %s: of %s there is %+v", args, name, i.Processes)
				}
			}
		})
	}
}
