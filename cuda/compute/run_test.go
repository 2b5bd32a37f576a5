//go:build nvidia

package compute_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/psbench/psbench/cuda/compute"
	"github.com/psbench/psbench/cuda/compute/internal/computetest"
	"github.com/psbench/psbench/internal/host"
	"github.com/psbench/psbench/plugins/trainers/batchupdate"
	"github.com/psbench/psbench/plugins/trainers/ddp"
	"github.com/psbench/psbench/plugins/trainers/hybrid"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/plugin"
)

// psbench is the program from the same build as the plugin. make cuda builds it.
const psbench = "../../bin/psbench"

// serve is the argument that makes the test executable act as a plugin on the device. The plugin's trainers and
// servers have other keys than psbench's, so that a run on the host uses psbench's parts.
const serve = "serve"

// extra holds an environment variable with its value for the plugin alone. psbench refuses unknown variables with
// its own prefix.
const extra = "TEST_CUDA_VARIABLE"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == free {
		tellFree()
		return
	}
	if len(os.Args) > 1 && os.Args[1] == serve {
		if variable := os.Getenv(extra); variable != "" {
			environment := slices.DeleteFunc(os.Environ(),
				func(v string) bool { return strings.HasPrefix(v, extra+"=") })
			panic(unix.Exec("/proc/self/exe", os.Args, append(environment, variable)))
		}
		parts := append(compute.Parts(),
			sdk.NewTrainer("cuda_ddp", ddp.Defaults, ddp.New),
			sdk.NewTableTrainer("cuda_hybrid", hybrid.Defaults, hybrid.New),
			sdk.NewParameterTrainer("cuda_update", batchupdate.Defaults, batchupdate.New))
		for _, p := range compute.Parts() {
			if p.Kind == sdk.KindServer {
				p.Key = "cuda_" + p.Key
				parts = append(parts, p)
			}
		}
		plugin.ServeOn(compute.Open, parts...)
		return
	}
	if len(os.Args) > 1 && os.Args[1] == ranks {
		serveRanks()
		return
	}
	os.Exit(m.Run())
}

// registry is a registry file with the plugin, except for its command.
const registry = `{
  "plugins": {"device": {"command": [%q, %q], "includes": ["builtin"]}},
  "trainer_map": {
    "cuda_ddp": {"plugin": "device", "description": "ddp on a device"},
    "cuda_hybrid": {"plugin": "device", "description": "hybrid on a device",
      "defaults": {"model": "HybridModel", "data": "HybridData"}, "bounds": {"data.num_embeddings": "server.num_embeddings"}},
    "cuda_update": {"plugin": "device", "description": "batch_update on a device",
      "defaults": {"model": "BatchUpdateModel", "data": "BatchUpdateData", "create_criterion": "l1", "batch_size": 20}}
  },
  "server_map": {
    "cuda_average": {"plugin": "device", "description": "average on a device"},
    "cuda_average_batch": {"plugin": "device", "description": "average_batch on a device"},
    "cuda_batch_update": {"plugin": "device", "description": "batch_update on a device"},
    "cuda_embedding": {"plugin": "device", "description": "embedding on a device"}
  }
}`

// writeRegistry writes a registry file that names the test executable as the plugin.
func writeRegistry(t *testing.T) string {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "registry.json")
	if err := os.WriteFile(file, fmt.Appendf(nil, registry, executable, serve), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// result is the part of a run's result that the tests check.
type result struct {
	Group    string      `json:"group"`
	Warnings []string    `json:"warnings"`
	Losses   [][]float64 `json:"losses"` // by trainer
	Series   []struct {
		Rank       int     `json:"rank"`
		Type       string  `json:"type"`
		Name       string  `json:"name"`
		KeyA       []int64 `json:"key_a"` // this and the next two lists hold differences
		KeyB       []int64 `json:"key_b"`
		StartNS    []int64 `json:"start_ns"`
		DurationNS []int64 `json:"duration_ns"`
	} `json:"series"`
	Counters []struct {
		Rank  int    `json:"rank"`
		Type  string `json:"type"`
		Name  string `json:"name"`
		Value int64  `json:"value"`
	} `json:"counters"`
	Gauges []struct {
		Rank  int       `json:"rank"`
		Type  string    `json:"type"`
		Name  string    `json:"name"`
		Value []float64 `json:"value"`
	} `json:"gauges"`
	Processes []process `json:"processes"`
	Checks    struct {
		Slices    int `json:"slices"`
		Unchecked []struct {
			What string `json:"what"`
		} `json:"unchecked"`
	} `json:"checks"`
}

type process struct {
	Rank  int               `json:"rank"`
	Name  string            `json:"name"`
	Facts map[string]string `json:"facts"`
}

var small = []string{
	"--set", "model.num_embeddings=128", "--set", "model.embedding_dim=104", "--set", "model.dense_input_size=104",
	"--set", "model.dense_output_size=104", "--set", "model.dense_layers_count=2", "--set", "trainer.bucket_bytes=2000",
	"--epochs", "2",
}

// Real processes train on the device, with hooks and servers on the device and on the host. The processes' losses
// match the host's.
func TestRunsHaveTheLossesOfTheHost(t *testing.T) {
	file := writeRegistry(t)
	for _, c := range []struct {
		name                        string
		trainer, server             string // parts on the host
		deviceTrainer, deviceServer string
		arguments                   []string
	}{
		{"all-reduce", "ddp", "", "cuda_ddp", "",
			append([]string{"--set", "trainer.lr=32", "--ntrainer", "2", "--nserver", "0"}, small...)},
		{"all-reduce over tcp, adam", "ddp", "", "cuda_ddp", "",
			append([]string{"--ntrainer", "2", "--nserver", "0", "--transport", "tcp", "--set",
				"trainer.optimizer=adam", "--set", "trainer.lr=0.01"}, small...)},
		{"sparse rows", "ddp", "average", "cuda_ddp", "cuda_average_batch",
			append([]string{"--ntrainer", "2", "--nserver", "1", "--ddp-hook", "sparse_rpc", "--set",
				"model.sparse=true", "--set", "trainer.momentum=0", "--set", "trainer.lr=32"}, small...)},
		{"server on the device", "ddp", "average", "cuda_ddp", "cuda_average",
			append([]string{"--ntrainer", "2", "--nserver", "1", "--set", "trainer.lr=32"}, small...)},
		{"server on the device over tcp", "ddp", "average", "cuda_ddp", "cuda_average",
			append([]string{"--ntrainer", "2", "--nserver", "1", "--transport", "tcp", "--set", "trainer.lr=32"},
				small...)},
		{"server on the device over unix", "ddp", "average", "cuda_ddp", "cuda_average_batch",
			append([]string{"--ntrainer", "2", "--nserver", "1", "--transport", "unix", "--set", "trainer.lr=32"},
				small...)},
		{"server on the host", "ddp", "average", "cuda_ddp", "average",
			append([]string{"--ntrainer", "2", "--nserver", "1", "--set", "trainer.lr=32"}, small...)},
		{"trainers on the host", "ddp", "average", "ddp", "cuda_average",
			append([]string{"--ntrainer", "2", "--nserver", "1", "--set", "trainer.lr=32"}, small...)},
		{"tables", "hybrid", "embedding", "cuda_hybrid", "cuda_embedding",
			[]string{"--ntrainer", "2", "--nserver", "2", "--epochs", "2", "--set", "server.embedding_dim=256"}},
		{"parameters", "batch_update", "batch_update", "cuda_update", "cuda_batch_update",
			[]string{"--ntrainer", "2", "--nserver", "1", "--epochs", "1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := run(t, append(c.arguments, "--trainer", c.trainer), c.server)
			got := run(t, append(c.arguments, "--trainer", c.deviceTrainer, "--registry", file), c.deviceServer)
			near(t, got, want)
			if strings.HasPrefix(c.deviceTrainer, "cuda_") {
				measured(t, got, c.trainer != "batch_update")
			}
			if strings.HasPrefix(c.deviceServer, "cuda_average") || c.deviceServer == "cuda_batch_update" {
				if n, total := spans(got, 2, "device average"); n < len(got.Losses[0]) || total <= 0 {
					t.Errorf("the server has %d spans of means, of %d ns in all", n, total)
				}
			}
			if c.deviceServer == "cuda_embedding" {
				scattersAreMeasured(t, got)
			}
			for _, p := range got.Processes {
				key := c.deviceTrainer
				if strings.HasPrefix(p.Name, "server") {
					key = c.deviceServer
				}
				if on := p.Facts["engine"] == "cuda:0"; (strings.HasPrefix(p.Name, "trainer") ||
					strings.HasPrefix(p.Name, "server")) && on != strings.HasPrefix(key, "cuda_") {
					t.Errorf("%s, of %s, has facts %v", p.Name, key, p.Facts)
				}
			}
		})
	}
}

// run runs psbench and returns the result.
func run(t *testing.T, arguments []string, server string) result {
	t.Helper()
	file := filepath.Join(t.TempDir(), "result.json")
	arguments = append(arguments, "--quiet", "--json", file)
	if server != "" {
		arguments = append(arguments, "--server", server)
	}
	if out, err := exec.CommandContext(t.Context(), psbench, arguments...).CombinedOutput(); err != nil {
		t.Fatalf("psbench %s: %v (make cuda makes it)\n%s", strings.Join(arguments, " "), err, out)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var r result
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// With --check, psbench also recomputes the answers of servers on the device.
func TestMeansAreChecked(t *testing.T) {
	arguments := slices.Concat([]string{"--check", "--ntrainer", "0", "--nserver", "0", "--ncudatrainer", "2",
		"--ncudaserver", "1", "--trainer", "ddp"}, small)
	checks := run(t, arguments, "average").Checks
	if checks.Slices == 0 {
		t.Error("nothing is checked")
	}
	for _, u := range checks.Unchecked {
		if u.What == "answers of server average" {
			t.Error("the answers of the server are not")
		}
	}
}

// near compares all losses. Training must have changed them by much more than the tolerance.
func near(t *testing.T, got, want result) {
	t.Helper()
	const tolerance = 1e-5
	moved := 0.0
	for i, losses := range want.Losses {
		if len(got.Losses) != len(want.Losses) || len(got.Losses[i]) != len(losses) {
			t.Fatalf("there are losses %v, want %v", got.Losses, want.Losses)
		}
		for j, w := range losses {
			moved = max(moved, math.Abs(w-losses[0]))
			if g := got.Losses[i][j]; math.Abs(g-w) > tolerance*max(1, math.Abs(w)) {
				t.Errorf("loss %d of trainer %d is %.8g, want %.8g", j, i, g, w)
			}
		}
	}
	if moved < 100*tolerance {
		t.Errorf("training changes losses by %g at most", moved)
	}
}

// If something fails on a device, the run ends with a sentence that names the process and the failure.
func TestFaultsEndTheRun(t *testing.T) {
	file := writeRegistry(t)
	for _, c := range []struct{ name, variable, want string }{
		{"too little memory", "PSBENCH_DOUBLE_MEMORY=200000", "bytes are free"},
		{"no memory for parameters", "PSBENCH_DOUBLE_FAIL=cuMemAlloc:20:2",
			"out of memory (CUDA_ERROR_OUT_OF_MEMORY, 2)"},
		{"a device that is lost", "PSBENCH_DOUBLE_LOST=60", "cuda:0"},
		{"a copy out that fails", "PSBENCH_DOUBLE_FAIL=cuMemcpyDtoHAsync:9:999", "cuMemcpyDtoHAsync"},
		{"a copy in that fails", "PSBENCH_DOUBLE_FAIL=cuMemcpyHtoDAsync:20:999", "cuMemcpyHtoDAsync"},
		{"a device that another process has", "PSBENCH_DOUBLE_EXCLUSIVE=busy",
			"the engine of trainer cuda_ddp does not open: cuDevicePrimaryCtxRetain on cuda:0: "},
		{"another device", host.CUDADeviceVariable + "=3",
			"the engine of trainer cuda_ddp does not open: there is no device cuda:3"},
		{"no library", host.CUDAProductVariable + "=mkl",
			"the engine of trainer cuda_ddp does not open: PSBENCH_CUDA_GEMM is \"mkl\" but must be cublas, kernels or unset"},
		{"no number", host.CUDADeviceVariable + "=first",
			"the environment variable PSBENCH_CUDA_DEVICE is \"first\" but must be the number of a device, from 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if strings.HasPrefix(c.variable, "PSBENCH_DOUBLE") {
				computetest.OnDouble(t)
			}
			arguments := append([]string{"--ntrainer", "2", "--nserver", "0", "--trainer", "cuda_ddp", "--registry",
				file, "--rpc-timeout", "20"}, small...)
			cmd := exec.CommandContext(t.Context(), psbench, arguments...)
			cmd.Env = append(os.Environ(), extra+"="+c.variable)
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), c.want) ||
				!strings.Contains(string(out), "psbench: trainer") {
				t.Errorf("it ends with %v, and does not say %q\n%s", err, c.want, out)
			}
		})
	}
}

// The loss of a device is reported by one sentence, however many resources the process held there.
func TestLossIsOneSentence(t *testing.T) {
	computetest.OnDouble(t)
	file := writeRegistry(t)
	for _, c := range []struct {
		name, server string
		arguments    []string
	}{
		{"alone", "", []string{"--nserver", "0"}},
		{"buckets are staged", "average", []string{"--nserver", "1"}},
	} {
		arguments := slices.Concat([]string{"--ntrainer", "1", "--trainer", "cuda_ddp", "--registry", file,
			"--rpc-timeout", "20", "--quiet"}, c.arguments, small)
		if c.server != "" {
			arguments = append(arguments, "--server", c.server)
		}
		cmd := exec.CommandContext(t.Context(), psbench, arguments...)
		cmd.Env = append(os.Environ(), extra+"=PSBENCH_DOUBLE_LOST=60")
		out, _ := cmd.CombinedOutput()
		_, said, _ := strings.Cut("\n"+string(out), "\npsbench: ")
		said, _, _ = strings.Cut(said, "; trainer0 is ") // and the double's message
		if !strings.HasPrefix(said, "trainer0") || len(said) > 400 ||
			strings.Count(said, "(CUDA_ERROR_UNKNOWN, 999)") != 1 || strings.Contains(said, "Close") {
			t.Errorf("%s: it ends with %d bytes, which may be 400 and say the cause once: %s\n%s", c.name, len(said),
				said, out)
		}
	}
}

// If memory cannot be pinned, for any reason, runs still work.
func TestRunsWithoutPinnedBuckets(t *testing.T) {
	computetest.OnDouble(t)
	t.Setenv(extra, "PSBENCH_DOUBLE_FAIL=cuMemHostRegister:*:999")
	file := writeRegistry(t)
	arguments := append([]string{"--ntrainer", "2", "--nserver", "1", "--set", "trainer.lr=32"}, small...)
	got := run(t, append(arguments, "--trainer", "cuda_ddp", "--registry", file), "cuda_average")
	near(t, got, run(t, append(arguments, "--trainer", "ddp"), "average"))
	for _, p := range got.Processes {
		if fact := p.Facts["pinned"]; strings.HasPrefix(p.Name, "trainer") &&
			!strings.HasPrefix(fact, "no: cuMemHostRegister") {
			t.Errorf("%s says of pinned memory %q", p.Name, fact)
		}
	}
}

// tooNew is a cuBLAS that needs a newer driver.
const tooNew = `
int cublasCreate_v2(void **h) { return 1; }
int cublasDestroy_v2(void *h) { return 1; }
int cublasGetVersion_v2(void *h, int *v) { return 1; }
int cublasSetStream_v2(void *h, void *s) { return 1; }
int cublasSgemm_v2(void) { return 1; }
`

// If no installed cuBLAS works, psbench's kernels multiply, and a fact gives the reason. If the run requires
// cuBLAS, it ends before training.
func TestRunsWithoutCuBLASThatWorks(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("there is no gcc to make a library with")
	}
	dir := t.TempDir()
	source := filepath.Join(dir, "cublas.c")
	if err := os.WriteFile(source, []byte(tooNew), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"libcublas.so.13", "libcublas.so.12", "libcublas.so.11", "libcublas.so"} {
		if out, err := exec.CommandContext(t.Context(), "gcc", "-shared", "-fPIC", "-o", filepath.Join(dir, name),
			source).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	t.Setenv("LD_LIBRARY_PATH", dir+":"+os.Getenv("LD_LIBRARY_PATH"))
	const why = "no cuBLAS: none of libcublas.so.13, libcublas.so.12, libcublas.so.11, libcublas.so works: " +
		"libcublas.so.13: cublasCreate on cuda:0: it is not initialized (cublasStatus_t 1); libcublas.so.12: cublasCreate"
	arguments := append([]string{"--ntrainer", "2", "--nserver", "1", "--trainer", "cuda_ddp", "--server",
		"cuda_average", "--registry", writeRegistry(t)}, small...)
	for _, p := range run(t, arguments, "").Processes {
		if fact := p.Facts["blas"]; strings.HasPrefix(p.Name, "trainer") &&
			!strings.HasPrefix(fact, "psbench's kernels: "+why) || strings.HasPrefix(p.Name, "server") && fact != "" {
			t.Errorf("%s says of products %q, which servers do not look for", p.Name, fact)
		}
	}
	t.Setenv(extra, host.CUDAProductVariable+"=cublas")
	out, err := exec.CommandContext(t.Context(), psbench, arguments...).CombinedOutput()
	if want := "PSBENCH_CUDA_GEMM is cublas but there is " + why; err == nil || !strings.Contains(string(out), want) {
		t.Errorf("it ends with %v, and does not say %q\n%s", err, want, out)
	}
}
