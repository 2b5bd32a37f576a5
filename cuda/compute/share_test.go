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

// free is the argument with which the test executable says how much of the device's memory is free, and
// how much there is.
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

// reports has the double's processes share the device, keep reports in the folder that it gives, and end at a
// misuse. On a GPU there are none.
func reports(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("PSBENCH_DOUBLE_SHARED", filepath.Join(dir, "device"))
	t.Setenv("PSBENCH_DOUBLE_REPORT", dir)
	return dir
}

// counts are those of a report of the double; none once the process is gone and left none.
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

// total adds up a count of all processes, none of which may have misused the driver or left anything.
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

// shared are runs whose buckets stay on the device: with servers and groups, of dense and of sparse buckets.
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

// Ranks of one device share buckets there, in whatever order its streams work: losses are those of the
// host, no byte of a bucket crosses the bus, and nothing is left.
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

// inOrders has the double's streams work latest, at random and earliest, and the test run in each: in a short one
// latest and one of the others, which differs from case to case. dir gets what the double's processes report.
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

// stays requires that ranks say that buckets are shared, and counted no byte on the bus.
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
	for rank := len(r.Losses); rank < ranks; rank++ { // servers, whose buckets are less than a piece each
		whole, _ := spans(r, rank, "average computation")
		all, _ := spans(r, rank, "param_index_batch")
		if n, _ := spans(r, rank, "device average"); all < len(r.Losses[0]) || whole != all || n != all {
			t.Errorf("server %d measured %d means, and %d on the device, of %d", rank, whole, n, all)
		}
	}
}

// What the double counts agrees: two more epochs copy nothing off the device but their losses.
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
	const bucket = 4 * 104 * 104 // the largest
	if shared <= 0 || shared >= bucket || staged < 2*bucket {
		t.Errorf("%d epochs copy %d bytes off the device, which must be less than a bucket of %d, and staged %d",
			epochs, shared, bucket, staged)
	}
}

// What ranks cannot share they stage, and say why.
func TestBucketsAreStagedAndWhy(t *testing.T) {
	file := writeRegistry(t)
	wanted := map[string]result{} // by server
	for _, c := range []struct {
		name, server, variable string
		arguments              []string
		trainer, atServer      string // what the facts say
	}{
		{"another transport", "cuda_average", "", []string{"--transport", "tcp"},
			"transport tcp maps no memory of one host", "transport tcp maps no memory of one host"},
		{"a transport between hosts", "cuda_average", "", []string{"--transport", "shm+tcp"},
			"transport shm+tcp maps no memory of one host", "the server takes no buckets of a device"},
		{"a server on the host", "average", "", nil, "server2 takes no buckets of a device", ""},
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

// The group of NCCL's backends says in its name that it reduces on the device.
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

// Faults while buckets are shared end the run with a sentence, in time.
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

// Who is killed while buckets are shared, the owner of some or who has them open, ends the run in time, and
// leaves nothing on the device.
func TestKilledWhileBucketsAreShared(t *testing.T) {
	computetest.OnDouble(t) // which reports who computes
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

// A rank that is killed leaves marks that its peers' devices wait for, and never reaches them: whose driver waits with
// them is ended all the same, in time, and the sentence names who was killed.
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
			t.Setenv("PSBENCH_DOUBLE_STREAMS", "latest") // no mark is reached before somebody waits for it
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

// kill ends a rank that computes: a server, which alone has memory of others open, or a trainer.
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
