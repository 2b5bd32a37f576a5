//go:build nvidia

package compute_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/psbench/psbench/cuda/compute/internal/computetest"
	"github.com/psbench/psbench/cuda/driver"
	"github.com/psbench/psbench/internal/host/record"
)

// free is the argument that makes the test executable print the free and the total memory of the device.
const free = "free"

func tellFree() {
	c, err := driver.Open(0)
	if err != nil {
		panic(err)
	}
	left, all, err := c.FreeMemory()
	if err != nil {
		panic(err)
	}
	fmt.Println(left, all)
}

// reports configures the double: processes share the device, write reports to the returned folder, and exit on
// misuse. A GPU writes no reports.
func reports(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("PSBENCH_DOUBLE_SHARED", filepath.Join(dir, "device"))
	t.Setenv("PSBENCH_DOUBLE_REPORT", dir)
	return dir
}

// counts returns the counts of one report of the double. counts returns none if the process has ended and left no
// report.
func counts(t *testing.T, file string) map[string]int64 {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int64{}
	for _, m := range regexp.MustCompile(`(?m)^(\w+) +(\d+)$`).FindAllStringSubmatch(string(text), -1) {
		found[m[1]], _ = strconv.ParseInt(m[2], 10, 64)
	}
	return found
}

// total adds up a count over all processes. total requires that none misused the driver or left anything allocated.
func total(t *testing.T, dir, count string) (sum int64) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		c := counts(t, file)
		sum += c[count]
		for _, none := range []string{"misuses", "leaks", "bytes", "imports", "allocations", "events"} {
			if c[none] != 0 {
				t.Errorf("%s has %d %s", file, c[none], none)
			}
		}
	}
	return sum
}

// shared are runs whose buckets stay on the device, with servers and groups, and dense and sparse buckets.
var shared = []struct {
	name, server string
	arguments    []string
}{
	{"average", "average", []string{"--ntrainer", "2", "--nserver", "1"}},
	{"three trainers, two servers", "average_batch", []string{"--ntrainer", "4", "--nserver", "2"}},
	{"sparse rows by the server", "average",
		[]string{"--ntrainer", "2", "--nserver", "1", "--set", "model.sparse=true"}},
	{"all-reduce", "", []string{"--ntrainer", "3", "--nserver", "0"}},
	{"sparse all-reduce", "", []string{"--ntrainer", "3", "--nserver", "0", "--set", "model.sparse=true"}},
	{"two groups", "",
		[]string{"--ntrainer", "2", "--nserver", "0", "--ddp-hook", "hybrid", "--set", "model.sparse=true"}},
	{"a server and a group", "average",
		[]string{"--ntrainer", "2", "--nserver", "1", "--ddp-hook", "sparse_rpc", "--set", "model.sparse=true"}},
}

// Ranks on one device share buckets there, in any order of stream work. The losses match the host's, no bucket
// crosses the bus, and nothing is left allocated.
func TestRunsShareBuckets(t *testing.T) {
	file := writeRegistry(t)
	for i, c := range shared {
		t.Run(c.name, func(t *testing.T) {
			arguments := slices.Concat(c.arguments, small, []string{"--set", "trainer.lr=32"})
			want := run(t, append(arguments, "--trainer", "ddp"), c.server)
			inOrders(t, i, func(dir string) {
				got := run(t, append(arguments, "--trainer", "cuda_ddp", "--registry", file), prefixed(c.server))
				near(t, got, want)
				stays(t, got)
				meansAreMeasured(t, got)
				total(t, dir, "launches")
			})
		})
	}
}

// inOrders runs a test with the double's streams working latest, at random and earliest. In short mode, it runs
// latest and one of the others, which depends on the case. The double's processes write their reports to dir.
func inOrders(t *testing.T, number int, each func(dir string)) {
	t.Helper()
	for i, streams := range []string{"latest", "random", "earliest"} {
		if testing.Short() && i > 0 && i != 1+number%2 {
			continue
		}
		t.Setenv("PSBENCH_DOUBLE_STREAMS", streams)
		t.Setenv("PSBENCH_DOUBLE_STRICT", "1")
		t.Setenv("PSBENCH_DOUBLE_EXIT", "97")
		each(reports(t))
	}
}

func prefixed(server string) string {
	if server == "" {
		return ""
	}
	return "cuda_" + server
}

// stays requires that ranks report shared buckets and counted no byte on the bus.
func stays(t *testing.T, r result) {
	t.Helper()
	ranks := 0
	for _, p := range r.Processes {
		if strings.HasPrefix(p.Name, "trainer") || strings.HasPrefix(p.Name, "server") {
			ranks++
			if got := p.Facts[record.FactBuckets]; got != record.BucketsShared {
				t.Errorf("the buckets of %s are %q", p.Name, got)
			}
		}
	}
	counted := 0
	for _, c := range r.Counters {
		if c.Name == "bus" {
			counted++
			if c.Value != 0 {
				t.Errorf("rank %d copied %d bytes of buckets", c.Rank, c.Value)
			}
		}
	}
	if counted != ranks {
		t.Errorf("%d of %d ranks count what crosses the bus", counted, ranks)
	}
	for rank, losses := range r.Losses {
		if n, _ := spans(r, rank, "device exchange"); n != len(losses) {
			t.Errorf("trainer %d measured %d exchanges of %d iterations", rank, n, len(losses))
		}
	}
	sumsAreMeasured(t, r)
}

// meansAreMeasured requires that each server average measured all its means on its device.
func meansAreMeasured(t *testing.T, r result) {
	t.Helper()
	ranks := len(r.Processes) - 1                     // without data
	for rank := len(r.Losses); rank < ranks; rank++ { // servers, whose buckets are each smaller than a piece
		whole, _ := spans(r, rank, "average computation")
		all, _ := spans(r, rank, "param_index_batch")
		if n, _ := spans(r, rank, "device average"); all < len(r.Losses[0]) || whole != all || n != all {
			t.Errorf("server %d measured %d means, and %d on the device, of %d", rank, whole, n, all)
		}
	}
}

// The double's counts confirm this: two more epochs copy nothing off the device except their losses.
func TestNoBucketCrossesTheBus(t *testing.T) {
	file := writeRegistry(t)
	const epochs = 2
	out := func(arguments ...string) int64 {
		dir := reports(t)
		run(t, slices.Concat([]string{"--ntrainer", "2", "--nserver", "1", "--trainer", "cuda_ddp", "--registry", file},
			small, arguments), "cuda_average")
		if files, _ := filepath.Glob(filepath.Join(dir, "*.txt")); len(files) == 0 {
			t.Skip("a GPU counts no copies")
		}
		return total(t, dir, "bytes_out")
	}
	shared := out("--epochs", "4") - out("--epochs", fmt.Sprint(4-epochs))
	staged := out("--epochs", "4", "--transport", "unix") - out("--epochs", fmt.Sprint(4-epochs), "--transport", "unix")
	const bucket = 4 * 104 * 104 // the largest bucket
	if shared <= 0 || shared >= bucket || staged < 2*bucket {
		t.Errorf("%d epochs copy %d bytes off the device, which must be less than a bucket of %d, and staged %d",
			epochs, shared, bucket, staged)
	}
}

// If ranks cannot share buckets, they stage them and report the reason.
func TestBucketsAreStagedAndWhy(t *testing.T) {
	file := writeRegistry(t)
	wanted := map[string]result{} // by server
	for _, c := range []struct {
		name, server, variable string
		arguments              []string
		trainer, atServer      string // expected facts
	}{
		{"another transport", "cuda_average", "", []string{"--transport", "tcp"},
			"transport tcp maps no memory of one host", "transport tcp maps no memory of one host"},
		{"a transport between hosts", "cuda_average", "", []string{"--transport", "shm+tcp"},
			"transport shm+tcp maps no memory of one host", "the server takes no buckets in device memory"},
		{"a server on the host", "average", "", nil, "server2 takes no buckets in device memory", ""},
		{"an isolated hook", "cuda_average", "", []string{"--isolate", "hook"}, "the hook has a process of its own",
			"staged for trainer0.hook and trainer1.hook: it does not share its own"},
		{"checked links", "cuda_average", "", []string{"--check"}, "what the links carry is checked",
			"it does not share its own"},
		{"an old driver", "cuda_average", "PSBENCH_DOUBLE_VERSION=11010", nil,
			"the driver serves CUDA 11.1, and before 11.2 it can deadlock", "it does not share its own"},
		{"memory is not exported", "cuda_average", "PSBENCH_DOUBLE_FAIL=cuIpcGetMemHandle:*:999", nil,
			"cuIpcGetMemHandle on cuda:0: ", "it does not share its own"},
		{"memory is not imported", "cuda_average", "PSBENCH_DOUBLE_FAIL=cuIpcOpenMemHandle:*:999", nil,
			"trainer0 and server2: cuIpcOpenMemHandle on cuda:0: ",
			"staged for trainer0 and trainer1: cuIpcOpenMemHandle on cuda:0: "},
		{"marks are not imported by the group", "", "PSBENCH_DOUBLE_FAIL=cuIpcOpenEventHandle:*:801",
			[]string{"--nserver", "0"},
			"trainer0 and trainer1: cuIpcOpenEventHandle on cuda:0: ", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if strings.HasPrefix(c.variable, "PSBENCH_DOUBLE") {
				computetest.OnDouble(t)
			}
			t.Setenv(extra, c.variable)
			dir := reports(t)
			arguments := slices.Concat([]string{"--ntrainer", "2", "--nserver", "1", "--set", "trainer.lr=32"}, small,
				c.arguments)
			got := run(t, append(arguments, "--trainer", "cuda_ddp", "--registry", file), c.server)
			key := strings.TrimPrefix(c.server, "cuda_")
			if _, known := wanted[key]; !known {
				wanted[key] = run(t, append(arguments, "--trainer", "ddp", "--transport", "shm"), key)
			}
			near(t, got, wanted[key])
			for _, p := range got.Processes {
				fact, want := p.Facts[record.FactBuckets], c.trainer
				if strings.HasPrefix(p.Name, "server") {
					want = c.atServer
				}
				if ranked := strings.HasPrefix(p.Name, "server") || p.Name == "trainer0"; ranked && want != "" &&
					(!strings.HasPrefix(fact, "staged") || !strings.Contains(fact, want)) {
					t.Errorf("the buckets of %s are %q, which must be staged: %s", p.Name, fact, want)
				}
			}
			if bus := busBytes(got); bus == 0 {
				t.Error("nothing is counted on the bus")
			}
			total(t, dir, "launches")
		})
	}
}

func busBytes(r result) (sum int64) {
	for _, c := range r.Counters {
		if c.Name == "bus" {
			sum += c.Value
		}
	}
	return sum
}

// On a device, the name of the NCCL backend's group says that it reduces there.
func TestGroupOnTheDeviceHasItsName(t *testing.T) {
	for transport, want := range map[string]string{"shm": "psbench's own, on the device by CUDA IPC",
		"unix": "psbench's own, in host memory over unix"} {
		arguments := append([]string{"--ntrainer", "0", "--nserver", "0", "--ncudatrainer", "2", "--backend", "nccl",
			"--transport", transport}, small...)
		if got := run(t, arguments, "").Group; got != want {
			t.Errorf("over %s the group is %q, want %q", transport, got, want)
		}
	}
}

// If a fault occurs while buckets are shared, the run ends in time with one sentence.
func TestFaultsOfSharedBuckets(t *testing.T) {
	file := writeRegistry(t)
	for _, c := range []struct {
		name, variable string
		want           string
		arguments      []string
		server         string
	}{
		{"a device that is lost", "PSBENCH_DOUBLE_LOST=70", "cuda:0", []string{"--nserver", "1"}, "cuda_average"},
		{"a device that is lost in a group", "PSBENCH_DOUBLE_LOST=70", "cuda:0", []string{"--nserver", "0"}, ""},
		{"a mark that is not recorded", "PSBENCH_DOUBLE_FAIL=cuEventRecord:90:999", "cuEventRecord on cuda:0",
			[]string{"--nserver", "1"}, "cuda_average"},
		{"a mark that is not waited for", "PSBENCH_DOUBLE_FAIL=cuStreamWaitEvent:9:999", "cuStreamWaitEvent on cuda:0",
			[]string{"--nserver", "0"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if strings.HasPrefix(c.variable, "PSBENCH_DOUBLE") {
				computetest.OnDouble(t)
			}
			t.Setenv(extra, c.variable)
			arguments := slices.Concat([]string{"--ntrainer", "2", "--trainer", "cuda_ddp", "--registry", file,
				"--rpc-timeout", "20"}, c.arguments, small)
			if c.server != "" {
				arguments = append(arguments, "--server", c.server)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
			defer cancel()
			out, err := exec.CommandContext(ctx, psbench, arguments...).CombinedOutput()
			if err == nil || ctx.Err() != nil || !strings.Contains(string(out), c.want) ||
				!strings.Contains(string(out), "\npsbench: ") && !strings.HasPrefix(string(out), "psbench: ") {
				t.Errorf("it ends with %v, %v, and does not say %q\n%s", err, ctx.Err(), c.want, out)
			}
		})
	}
}

// If a process that shares buckets is killed, the run ends in time and leaves nothing on the device. The process
// may own the buckets or have opened them.
func TestKilledWhileBucketsAreShared(t *testing.T) {
	computetest.OnDouble(t) // the double reports which process computes
	file := writeRegistry(t)
	for _, victim := range []string{"trainer", "server"} {
		t.Run(victim, func(t *testing.T) {
			dir := reports(t)
			arguments := slices.Concat([]string{"--ntrainer", "2", "--nserver", "1", "--trainer", "cuda_ddp",
				"--server", "cuda_average", "--registry", file, "--rpc-timeout", "20"},
				small, []string{"--epochs", "100000"})
			ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
			defer cancel()
			cmd := exec.CommandContext(ctx, psbench, arguments...)
			var out strings.Builder
			cmd.Stdout, cmd.Stderr = &out, &out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			kill(ctx, t, dir, victim)
			err := cmd.Wait()
			if err == nil || ctx.Err() != nil || !strings.Contains(out.String(), "psbench: "+victim) {
				t.Errorf("it ends with %v, %v, and does not name %s\n%s", err, ctx.Err(), victim, out.String())
			}
			nothingLeft(t)
		})
	}
}

// A killed rank never reaches the events that its peers' devices wait for. Peers whose driver waits for such an
// event end in time too, and the error names the killed rank.
func TestKilledBeforeItsMarkIsReached(t *testing.T) {
	computetest.OnDouble(t)
	file := writeRegistry(t)
	for _, c := range []struct {
		name, server, call string
		arguments          []string
	}{
		{"a trainer of a server", "cuda_average", "cuLaunchKernel:60:-9", []string{"--nserver", "1"}},
		{"a trainer of a group", "", "cuStreamWaitEvent:60:-9", []string{"--nserver", "0"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			reports(t)
			t.Setenv("PSBENCH_DOUBLE_STREAMS", "latest") // no event is reached before something waits for it
			t.Setenv("PSBENCH_DOUBLE_IDLE_MS", "60000")
			t.Setenv(extra, "PSBENCH_DOUBLE_FAIL="+c.call)
			arguments := slices.Concat([]string{"--ntrainer", "2", "--trainer", "cuda_ddp", "--registry", file,
				"--rpc-timeout", "5"}, small, c.arguments)
			if c.server != "" {
				arguments = append(arguments, "--server", c.server)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
			defer cancel()
			out, err := exec.CommandContext(ctx, psbench, arguments...).CombinedOutput()
			if want := regexp.MustCompile(
				`(?m)^psbench: trainer\d \(process \d+\) was killed by signal 9 `); err == nil || ctx.Err() != nil ||
				!want.Match(out) {
				t.Errorf("it ends with %v, %v, and does not say who was killed\n%s", err, ctx.Err(), out)
			}
			nothingLeft(t)
		})
	}
}

// nothingLeft requires that all memory of the device is free.
func nothingLeft(t *testing.T) {
	t.Helper()
	told, err := exec.CommandContext(t.Context(), "/proc/self/exe", free).Output()
	if err != nil {
		t.Fatal(err)
	}
	if numbers := strings.Fields(string(told)); len(numbers) != 2 || numbers[0] != numbers[1] {
		t.Errorf("of the device's memory is free, and there is, %s", told)
	}
}

// kill kills a rank that computes: a server, which alone opens other processes' memory, or a trainer.
func kill(ctx context.Context, t *testing.T, dir, victim string) {
	t.Helper()
	for ; ctx.Err() == nil; time.Sleep(5 * time.Millisecond) {
		files, _ := filepath.Glob(filepath.Join(dir, "*.txt"))
		for _, file := range files {
			pid, _ := strconv.Atoi(strings.TrimSuffix(filepath.Base(file), ".txt"))
			c := counts(t, file)
			if c["launches"] > 200 && (c["imports"] > 0) == (victim == "server") {
				if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
				return
			}
		}
	}
	t.Errorf("%s was never at work", victim)
}
