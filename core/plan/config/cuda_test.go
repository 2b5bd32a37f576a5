package config

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/psbench/psbench"
	"github.com/psbench/psbench/core/host/devices"
	"github.com/psbench/psbench/core/plan/config/option"
	"github.com/psbench/psbench/core/plan/cuda"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/sdk"
)

// finder is a CUDAFinder that returns cards, or an error for the devices or the program.
type finder struct {
	cards          []devices.Device
	driver         int
	mps            bool
	none, noPlugin error
}

func (f finder) Devices(context.Context, int) (*devices.List, error) {
	if f.none != nil {
		return nil, f.none
	}
	return &devices.List{Driver: f.driver, Devices: f.cards, MPS: devices.MPS{Used: f.mps}}, nil
}

func (f finder) Plugin(context.Context, *registry.Registry, string) (registry.Plugin, error) {
	return registry.Plugin{Name: cuda.PluginName, Command: []string{"/bin/psbench-cuda"},
		Includes: []string{registry.Builtin}}, f.noPlugin
}

// cards returns a finder with n usable cards.
func cards(n int) finder {
	f := finder{driver: 12040}
	for i := range n {
		f.cards = append(f.cards,
			devices.Device{Ordinal: i, Name: "Card", Capability: "9.0", UUID: "GPU-" + string(rune('a'+i)),
				Mode: devices.Shared})
	}
	return f
}

// with returns a finder whose first card was changed.
func (f finder) with(change func(*devices.Device)) finder {
	f.cards = slices.Clone(f.cards)
	change(&f.cards[0])
	return f
}

// resolveCUDA resolves flags with the finder f. The plugin psbench-cuda has all of psbench's own parts except those in
// without.
func resolveCUDA(t *testing.T, f CUDAFinder, flags string, without ...string) (*Experiment, error) {
	t.Helper()
	set := pflag.NewFlagSet("psbench", pflag.ContinueOnError)
	option.AddFlags(set)
	if err := set.Parse(strings.Fields(flags)); err != nil {
		t.Fatal(err)
	}
	c, err := Merge(Sources{Flags: set, CUDA: f})
	if err != nil {
		t.Fatal(err)
	}
	reg, err := c.LoadRegistry(psbench.Registry, "")
	if err != nil {
		t.Fatal(err)
	}
	return c.Resolve(t.Context(), reg, func(ctx context.Context, p registry.Plugin) ([]sdk.Part, error) {
		if p.Name != cuda.PluginName {
			return parts(ctx, p)
		}
		own, err := builtinParts()
		return slices.DeleteFunc(slices.Clone(own), func(d sdk.Part) bool { return slices.Contains(without, d.Key) }),
			err
	})
}

func TestCUDARanksThatCannotBe(t *testing.T) {
	inFolder(t, map[string]string{"mine.json": `{"plugins": {"alone": {"command": ["./mine"]}},
		"trainer_map": {"solo": {"plugin": "alone"}}, "model_map": {"theirs": {"plugin": "alone"}}}`})
	const one = "--ntrainer 0 --nserver 0 --ncudatrainer 1 "
	for _, c := range []struct {
		name    string
		finder  finder
		flags   string
		without string
		want    string
	}{
		{"no driver", finder{none: errors.New("there is no CUDA driver: libcuda.so.1 cannot be loaded")},
			"--ncudatrainer 1", "",
			"--ncudatrainer is 1 but there is no CUDA driver: libcuda.so.1 cannot be loaded"},
		{"no device, servers alone", finder{none: errors.New("the driver finds no device")}, "--ncudaserver 2", "",
			"--ncudaserver is 2 but the driver finds no device"},
		{"no program", finder{noPlugin: errors.New("there is no psbench-cuda beside psbench")}, "--ncudatrainer 1", "",
			"--ncudatrainer is 1 but there is no psbench-cuda beside psbench"},
		{"an old driver", finder{driver: 10010, cards: cards(1).cards}, one, "",
			"--ncudatrainer is 1 but the driver serves CUDA 10.1, but psbench needs 11.0 or newer: update the driver"},
		{"an old card", cards(1).with(func(d *devices.Device) { d.Capability = "6.1" }), one, "",
			"--ncudatrainer is 1 but cuda:0 (Card) has the compute capability 6.1, but psbench's kernels need 7.0 or more: run on the CPU"},
		{"an old card beside another", cards(2).with(func(d *devices.Device) { d.Capability = "6.1" }), one, "",
			"--ncudatrainer is 1 but cuda:0 (Card) has the compute capability 6.1, but psbench's kernels need 7.0 or more: leave it out by CUDA_VISIBLE_DEVICES=GPU-b"},
		{"a prohibited card", cards(1).with(func(d *devices.Device) { d.Mode = devices.Prohibited }), one, "",
			"--ncudatrainer is 1 but cuda:0 (Card) is in compute mode prohibited, so no process may use it: nvidia-smi -i GPU-a -c DEFAULT allows it, or run on the CPU"},
		{"an exclusive card", cards(1).with(func(d *devices.Device) { d.Mode = devices.Exclusive }),
			"--ntrainer 0 --nserver 0 --ncudatrainer 2 --ncudaserver 1", "",
			"--ncudatrainer is 2 but cuda:0 (Card) is in compute mode exclusive, which allows one process, but 3 ranks share it: nvidia-smi -i GPU-a -c DEFAULT allows them, or start MPS"},
		{"an exclusive card of two", cards(2).with(func(d *devices.Device) { d.Mode = devices.Exclusive }),
			"--ntrainer 0 --nserver 0 --ncudatrainer 2 --ncudaserver 1", "",
			"--ncudatrainer is 2 but cuda:0 (Card) is in compute mode exclusive, which allows one process, but 2 ranks share it: nvidia-smi -i GPU-a -c DEFAULT allows them, or start MPS"},
		{"servers without trainers", cards(1), "--ncudaserver 1", "",
			"--ncudaserver is 1 but --ncudatrainer is 0: servers need trainers of their kind"},
		{"both kinds of trainers", cards(1), "--ncudatrainer 1", "",
			"--ntrainer is 2 and --ncudatrainer is 1: CPU and CUDA trainers together need servers of both kinds, but --nserver is 1 and --ncudaserver is 0"},
		{"CPU servers of CUDA trainers", cards(1), "--ntrainer 0 --ncudatrainer 1", "",
			"--nserver is 1 but --ntrainer is 0: servers need trainers of their kind"},
		{"an uneven share", cards(1), "--ntrainer 0 --nserver 0 --ncudatrainer 3 --ncudaserver 2", "",
			"--ncudaserver is 2 but --ncudatrainer is 3: the count of trainers must be a multiple of the count of servers"},
		{"NCCL among CPU trainers", cards(1), "--backend nccl --ncudatrainer 2 --ncudaserver 1", "",
			"--backend is nccl but --ntrainer (default) is 2: NCCL connects only CUDA trainers: give --ntrainer 0, or --backend gloo"},
		{"multi without CUDA trainers", cards(1), "--backend multi", "",
			"--backend is multi but --ncudatrainer (default) is 0: NCCL connects CUDA trainers: give --ncudatrainer 1 or more, or --backend gloo"},
		{"an isolated model", cards(1), one + "--isolate model", "",
			"--ncudatrainer is 1 but --isolate puts the model into a process beside its trainer, which cannot access the trainer's device memory: isolate only the hook"},
		{"all isolated", cards(1), one + "--isolate all", "",
			"--ncudatrainer is 1 but --isolate puts the criterion into a process beside its trainer, which cannot access the trainer's device memory: isolate only the hook"},
		{"a trainer of another plugin", cards(1), one + "--registry mine.json --trainer solo", "",
			"--ncudatrainer is 1 but trainer solo is of plugin alone, whose processes compute on the CPU: CUDA ranks have psbench's own parts, as /bin/psbench-cuda serves them"},
		{"a model of another plugin", cards(1), one + "--registry mine.json --model theirs", "",
			"--ncudatrainer is 1 but model theirs is of plugin alone, whose processes compute on the CPU: CUDA ranks have psbench's own parts, as /bin/psbench-cuda serves them"},
		{"a model that is not for devices", cards(1), one, "dummy",
			"--ncudatrainer is 1 but /bin/psbench-cuda has no model dummy: it has dlrm, mlp"},
		{"replicas of two seeds", cards(1), "--ncudatrainer 2 --ncudaserver 1 --ddp-hook sparse_rpc --cuda-seed 5", "",
			"--cuda-seed is 5 but --torch-seed (default) is 0, and hook sparse_rpc connects the CPU and the CUDA trainers: their models must start equal, so leave --cuda-seed out"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := resolveCUDA(t, c.finder, c.flags, c.without)
			var rule *RuleError
			if err == nil || err.Error() != c.want || !errors.As(err, &rule) {
				t.Errorf("got  %v\nwant %s, of a rule", err, c.want)
			}
		})
	}
}

// If the CUDA ranks run on other hosts, the core's host needs no device. The core does not ask its own host's
// psbench-cuda for parts.
func TestCUDARanksOfOtherHosts(t *testing.T) {
	const flags = "--ntrainer 0 --nserver 0 --ncudatrainer 2 --ncudaserver 1"
	e, err := resolveCUDA(t, finder{}, flags, "dummy")
	if err != nil {
		t.Fatal(err)
	}
	if e.CUDA.Here() || e.PluginOf(sdk.KindTrainer, 0).Name != cuda.PluginName || e.Parts[sdk.KindServer].Elementwise {
		t.Errorf("they are here: %v, of plugin %s, and their server combines pieces: %v",
			e.CUDA.Here(), e.PluginOf(sdk.KindTrainer, 0).Name, e.Parts[sdk.KindServer].Elementwise)
	}
	_, err = resolveCUDA(t, finder{}, flags+" --isolate model")
	if want := "--isolate puts the model into a process beside its trainer"; err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestNobodyFindsCUDA(t *testing.T) {
	_, err := resolveCUDA(t, nil, "--ncudatrainer 1")
	if want :=
		"--ncudatrainer is 1 but nothing looks for CUDA devices here: give --ncudatrainer 0 and --ncudaserver 0"; err ==
		nil ||
		err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestCUDARanks(t *testing.T) {
	for _, c := range []struct {
		name, flags string
		seeds       string // indexed by rank
		group       string
		notNCCL     string
	}{
		{"one card", "--ntrainer 0 --nserver 0 --ncudatrainer 2 --ncudaserver 1 --torch-seed 7", "7 7 7", "", ""},
		{"three cards", "--ntrainer 0 --nserver 0 --ncudatrainer 4 --ncudaserver 2", "0 0 0 0 0 0", "", ""},
		{"beside CPU ranks", "--ncudatrainer 2 --ncudaserver 1 --cuda-seed 3 --torch-seed 7", "7 7 3 3 7 3", "", ""},
		{"nccl", "--ntrainer 0 --nserver 0 --ncudatrainer 4 --backend nccl", "0 0 0 0",
			"psbench's own, in host memory over shm",
			"NCCL refuses two ranks of one card"},
		{"multi on cards of their own",
			"--ntrainer 0 --nserver 0 --ncudatrainer 2 --ddp-hook hybrid --backend multi --transport tcp", "0 0",
			"psbench's own, in host memory over tcp",
			"ranks of NCCL meet in memory that all of them map"},
		{"nccl on cards of their own", "--ntrainer 0 --nserver 0 --ncudatrainer 3 --backend nccl", "0 0 0",
			"psbench's own, in host memory over shm", ""},
		{"nccl of one trainer", "--ntrainer 0 --nserver 0 --ncudatrainer 1 --backend nccl", "0",
			"psbench's own, in host memory over shm",
			"one trainer has no peer to reduce with"},
		{"nccl that no hook uses", "--ntrainer 0 --nserver 0 --ncudatrainer 1 --ncudaserver 1 --backend nccl", "0 0",
			"", ""},
		{"tables on the CPU", "--trainer hybrid --ntrainer 0 --nserver 8 --ncudatrainer 1", "0 0 0 0 0 0 0 0 0", "",
			""},
		{"an isolated hook", "--ntrainer 0 --nserver 0 --ncudatrainer 1 --isolate hook", "0", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			found := cards(3)
			if c.name == "one card" {
				found = cards(1)
			}
			e, err := resolveCUDA(t, found, c.flags)
			if err != nil {
				t.Fatal(err)
			}
			var seeds []string
			for rank := range e.World.Master() {
				seeds = append(seeds, string(rune('0'+e.SeedOf(rank))))
				kind := sdk.KindTrainer
				if rank >= e.World.Trainers+e.World.CUDATrainers {
					kind = sdk.KindServer
				}
				want := registry.Builtin
				if e.World.CUDA(rank) {
					want = cuda.PluginName
				}
				if got := e.PluginOf(kind, rank).Name; got != want {
					t.Errorf("%s is of plugin %s, want %s", e.World.Name(rank), got, want)
				}
			}
			if spans := c.name == "nccl on cards of their own"; e.GroupSpans() != spans {
				t.Errorf("that a library is the group is %v", e.GroupSpans())
			}
			for _, d := range []string{
				cmp.Diff(c.seeds, strings.Join(seeds, " ")), cmp.Diff(c.group, e.Group),
				cmp.Diff(c.notNCCL, e.NotNCCL), cmp.Diff("", strings.Join(e.Warnings, "; ")),
			} {
				if d != "" {
					t.Error(d)
				}
			}
		})
	}
}

// The result records the seed of the CUDA ranks. A seed that the user gave is pinned, so that another run gets the same
// seed.
func TestCUDASeedIsRecorded(t *testing.T) {
	for _, c := range []struct {
		flags, origin string
		want          uint64
		pinned        bool
	}{
		{"--ntrainer 0 --nserver 0 --ncudatrainer 1 --torch-seed 7", "derived: as --torch-seed", 7, false},
		{"--ntrainer 0 --nserver 0 --ncudatrainer 1 --torch-seed 7 --cuda-seed 0", "flag --cuda-seed", 0, true},
		{"--torch-seed 7", "default", 0, false},
	} {
		t.Run(fmt.Sprintf("%.60s", c.flags), func(t *testing.T) {
			e, err := resolveCUDA(t, cards(1), c.flags)
			if err != nil {
				t.Fatal(err)
			}
			v := value(e, "cuda_seed")
			if _, pinned := File(e.Values)["cuda_seed"]; text(v.Value) != text(c.want) || v.Origin != c.origin ||
				pinned != c.pinned {
				t.Errorf("%s: %v of %q, pinned %v", c.flags, v.Value, v.Origin, pinned)
			}
		})
	}
}

func text(v any) string { return fmt.Sprint(v) }

// Some variables are for processes of a run and are not options. A psbench below such a process, or in a test of CUDA,
// accepts them.
func TestVariablesOfProcesses(t *testing.T) {
	if _, err := resolve(t, []string{"PSBENCH_CUDA_DEVICE=1", "PSBENCH_DOUBLE_SEED=3"}, nil); err != nil {
		t.Error(err)
	}
}
