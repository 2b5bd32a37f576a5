//go:build nvidia

package compute_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/psbench/psbench/cuda/compute"
	"github.com/psbench/psbench/cuda/compute/internal/computetest"
	"github.com/psbench/psbench/cuda/library"
	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/sdk/plugin"
)

// ranks is the argument that makes the test executable act as psbench-cuda. The executable then reports that
// plugin's build.
const ranks = "ranks"

func serveRanks() {
	if len(os.Args) > 2 {
		panic(unix.Exec(psbench+"-cuda", []string{"psbench-cuda", os.Args[2]}, os.Environ()))
	}
	if variable := os.Getenv(extra); variable != "" {
		name, _, _ := strings.Cut(variable, "=")
		environment := slices.DeleteFunc(os.Environ(),
			func(v string) bool { return strings.HasPrefix(v, extra+"=") || strings.HasPrefix(v, name+"=") })
		panic(unix.Exec("/proc/self/exe", os.Args, append(environment, variable)))
	}
	plugin.ServeOn(compute.Open, compute.Parts()...)
}

// acrossCards returns the arguments of runs whose trainers use n different cards, on this executable. acrossCards
// skips the test if there are fewer cards or no NCCL. The double shows as many cards as requested.
func acrossCards(t *testing.T, n int, arguments ...string) []string {
	t.Helper()
	t.Setenv("PSBENCH_DOUBLE_DEVICES", strconv.Itoa(n))
	out, err := exec.CommandContext(t.Context(), psbench, "list", "devices").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !strings.Contains(string(out), fmt.Sprintf("cuda:%d", n-1)) {
		t.Skipf("there are no %d cards", n)
	}
	if nccl, err := library.OpenNCCL(); err != nil {
		t.Skip(err)
	} else {
		nccl.Close()
	}
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "registry.json")
	if err := os.WriteFile(file, fmt.Appendf(nil, `{"plugins": {"cuda": {"command": [%q, %q]}}}`, executable, ranks),
		0o600); err != nil {
		t.Fatal(err)
	}
	return slices.Concat([]string{"--ntrainer", "0", "--nserver", "0", "--ncudatrainer", strconv.Itoa(n), "--registry",
		file}, small, arguments)
}

// Trainers on different cards reduce by NCCL, in any order of stream work. The losses match the host's, no bucket
// goes through the host, and nothing is left allocated.
func TestRunsOverNCCL(t *testing.T) {
	for i, c := range []struct {
		name, backend string
		cards         int
		arguments     []string
	}{
		{"dense", "nccl", 2, nil},
		{"three cards", "nccl", 3, nil},
		{"rows", "nccl", 2, []string{"--set", "model.sparse=true"}},
		{"two groups", "multi", 2, []string{"--ddp-hook", "hybrid", "--set", "model.sparse=true"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			more := append(c.arguments, "--set", "trainer.lr=32")
			want := run(t, slices.Concat([]string{"--ntrainer", strconv.Itoa(c.cards), "--nserver", "0"}, small, more),
				"")
			arguments := acrossCards(t, c.cards, append(more, "--backend", c.backend)...)
			inOrders(t, i, func(dir string) {
				got := run(t, arguments, "")
				near(t, got, want)
				leftOnDevices(t, got)
				total(t, dir, "launches")
			})
		})
	}
}

// leftOnDevices requires that NCCL reduced the group and that no bucket went through the host.
func leftOnDevices(t *testing.T, r result) {
	t.Helper()
	if !strings.HasPrefix(r.Group, "NCCL 2.") {
		t.Errorf("the group is %q", r.Group)
	}
	for _, p := range r.Processes {
		if got := p.Facts[record.FactBuckets]; strings.HasPrefix(p.Name, "trainer") &&
			(got != record.BucketsLeft || p.Facts[record.FactGroup] != r.Group) {
			t.Errorf("the buckets of %s are %q, by %q", p.Name, got, p.Facts[record.FactGroup])
		}
	}
	if bytes := busBytes(r); bytes != 0 {
		t.Errorf("%d bytes of buckets went through the host", bytes)
	}
	for rank, losses := range r.Losses {
		if n, _ := spans(r, rank, "device exchange"); n != len(losses) {
			t.Errorf("trainer %d measured %d exchanges of %d iterations", rank, n, len(losses))
		}
	}
	sumsAreMeasured(t, r)
}

// Each backend's group reports the name of the library that ran. A warning says so if this is another library.
func TestGroupsOfBackends(t *testing.T) {
	computetest.OnDouble(t)
	const (
		host, onCard   = "psbench's own, in host memory over shm", "psbench's own, on the device by CUDA IPC"
		not            = "the trainers' group is not NCCL's but "
		refused, apart = ": NCCL refuses two ranks of one card", ", and the buckets of trainer0 are staged: "
	)
	for _, c := range []struct {
		name           string
		trainers       string
		cards          int
		arguments      []string
		group, warning string
	}{
		{"gloo on two cards", "2", 2, []string{"--backend", "gloo"}, "", ""},
		{"nccl on two cards", "2", 2, []string{"--backend", "nccl"}, "NCCL 2.21.5", ""},
		{"multi on two cards", "2", 2, []string{"--backend", "multi"}, "NCCL 2.21.5", ""},
		{"nccl on one card", "2", 1, []string{"--backend", "nccl"}, onCard, not + onCard + refused},
		{"three trainers on two cards", "3", 2, []string{"--backend", "nccl"}, host, not + host + refused + apart},
		{"one trainer", "1", 2, []string{"--backend", "nccl"}, onCard,
			not + onCard + ": one trainer has no peer to reduce with"},
		{"nccl over tcp", "2", 2, []string{"--backend", "nccl", "--transport", "tcp"},
			"psbench's own, in host memory over tcp",
			not + "psbench's own, in host memory over tcp: ranks of NCCL meet in memory that all of them map" + apart +
				"transport tcp maps no memory of one host"},
		{"nccl that is checked", "2", 2, []string{"--backend", "nccl", "--check"}, host,
			not + host + ": the buckets of trainer0 are staged: what the links carry is checked"},
		{"nccl beside servers elsewhere", "2", 2, []string{"--backend", "nccl", "--ncudaserver", "1", "--ddp-hook",
			"sparse_rpc", "--set", "model.sparse=true"}, host, not + host + ": the buckets of trainer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := run(t, append(acrossCards(t, c.cards, c.arguments...), "--ncudatrainer", c.trainers), "")
			if got.Group != c.group {
				t.Errorf("the group is %q, want %q", got.Group, c.group)
			}
			if warnings := strings.Join(got.Warnings,
				"; "); c.warning != "" && !strings.Contains(warnings, c.warning) ||
				c.warning == "" && strings.Contains(warnings, "group") {
				t.Errorf("it warns: %s\nwhere this is due: %s", warnings, c.warning)
			}
		})
	}
}

// If NCCL is missing or does not work, the error is one sentence.
func TestNCCLThatDoesNotWork(t *testing.T) {
	computetest.OnDouble(t)
	for _, c := range []struct{ name, variable, want string }{
		{"missing", "",
			"cannot join its group across devices: no NCCL: none of libnccl.so.2, libnccl.so is where the loader looks (LD_LIBRARY_PATH) or in Python's packages: install it, or give --backend gloo"},
		{"too old", "PSBENCH_DOUBLE_NCCL_VERSION=21304",
			"no NCCL: none of libnccl.so.2, libnccl.so works: libnccl.so.2: it is NCCL 2.13.4, but psbench needs 2.14 or newer: install it, or give --backend gloo"},
		{"much too old", "PSBENCH_DOUBLE_NCCL_VERSION=2708", "it is NCCL 2.7.8, but psbench needs 2.14 or newer"},
		{"no name", "PSBENCH_DOUBLE_NCCL_FAIL=ncclGetUniqueId:1:2",
			"cannot join its group: ncclGetUniqueId: unhandled system error (ncclResult_t 2)"},
		{"no group", "PSBENCH_DOUBLE_NCCL_FAIL=ncclCommInitRankConfig:1:3", " cannot join its group: rank "},
		{"one card", "PSBENCH_CUDA_DEVICE=0", "of 2 on cuda:0: ncclCommInitRankConfig: invalid usage (ncclResult_t 5)"},
		{"a call that fails", "PSBENCH_DOUBLE_NCCL_FAIL=ncclAllReduce:7:1", "ncclAllReduce of 10920 elements on cuda:"},
		{"work that fails", "PSBENCH_DOUBLE_NCCL_BREAK=9:6", "work of NCCL on cuda:"},
		{"work that hangs", "PSBENCH_DOUBLE_NCCL_BREAK=8:0", "s for the sum of bucket 1 by NCCL from trainer"},
		{"an end that fails", "PSBENCH_DOUBLE_NCCL_FAIL=ncclCommFinalize:1:3",
			"ncclCommFinalize: internal error (ncclResult_t 3)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv(extra, c.variable)
			arguments := acrossCards(t, 2, "--backend", "nccl", "--rpc-timeout", "3")
			if c.variable == "" {
				driverAlone(t)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
			defer cancel()
			out, err := exec.CommandContext(ctx, psbench, arguments...).CombinedOutput()
			if err == nil || ctx.Err() != nil || !strings.Contains(string(out), c.want) ||
				strings.Count(string(out), "\npsbench: ")+strings.Count(string(out[:9]), "psbench: ") != 1 {
				t.Errorf("it ends with %v, %v, and does not say %q\n%s", err, ctx.Err(), c.want, out)
			}
		})
	}
}

// driverAlone gives the loader a folder that has the double of the driver but no NCCL.
func driverAlone(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	for _, folder := range filepath.SplitList(os.Getenv("LD_LIBRARY_PATH")) {
		found, err := filepath.Abs(filepath.Join(folder, "libcuda.so.1"))
		if _, missing := os.Stat(found); err != nil || missing != nil {
			continue
		}
		if err := os.Symlink(found, filepath.Join(dir, "libcuda.so.1")); err != nil && !errors.Is(err, os.ErrExist) {
			t.Fatal(err)
		}
	}
	t.Setenv("LD_LIBRARY_PATH", dir)
}

// If a process of an NCCL group is killed or hangs, the run ends in time and leaves nothing on the cards.
func TestKilledInAGroupOfNCCL(t *testing.T) {
	for _, c := range []struct {
		name   string
		signal syscall.Signal
		want   string
	}{{"killed", syscall.SIGKILL, "psbench: trainer"}, {"stopped", syscall.SIGSTOP, " from trainer"}} {
		t.Run(c.name, func(t *testing.T) {
			computetest.OnDouble(t) // the double reports which process computes
			dir := reports(t)
			arguments := acrossCards(t, 2, "--backend", "nccl", "--rpc-timeout", "5", "--epochs", "100000")
			ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
			defer cancel()
			cmd := exec.CommandContext(ctx, psbench, arguments...)
			var out strings.Builder
			cmd.Stdout, cmd.Stderr = &out, &out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			strike(ctx, t, dir, c.signal)
			err := cmd.Wait()
			if err == nil || ctx.Err() != nil || !strings.Contains(out.String(), c.want) ||
				strings.Contains(out.String(), "still working") {
				t.Errorf("it ends with %v, %v, and does not say %q\n%s", err, ctx.Err(), c.want, out.String())
			}
			nothingLeft(t)
		})
	}
}

// strike sends a signal to a rank that computes.
func strike(ctx context.Context, t *testing.T, dir string, signal syscall.Signal) {
	t.Helper()
	for ; ctx.Err() == nil; time.Sleep(5 * time.Millisecond) {
		files, _ := filepath.Glob(filepath.Join(dir, "*.txt"))
		for _, file := range files {
			pid, _ := strconv.Atoi(strings.TrimSuffix(filepath.Base(file), ".txt"))
			if counts(t, file)["launches"] > 200 {
				if err := syscall.Kill(pid, signal); err != nil {
					t.Fatal(err)
				}
				return
			}
		}
	}
	t.Error("no trainer was ever at work")
}
