package config

import (
	"context"
	"fmt"
	"slices"

	"github.com/psbench/psbench/core/host/devices"
	"github.com/psbench/psbench/core/plan/config/option"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/sdk"
)

// CUDAFinder finds the devices and the plugin for CUDA ranks. Outside of tests it is a *cuda.Finder.
type CUDAFinder interface {
	// Devices returns at least one device, or an error that says in a sentence why there is none. If CUDA ranks may run
	// on other hosts, it may return an empty list without an error. ranks is the number of CUDA ranks. The list gives
	// the free memory of the devices that these ranks use.
	Devices(ctx context.Context, ranks int) (*devices.List, error)
	// Plugin returns the plugin that runs the CUDA ranks. The plugin must come from the given build.
	Plugin(ctx context.Context, reg *registry.Registry, build string) (registry.Plugin, error)
}

// CUDA holds the plugin, devices and seed for the CUDA ranks of an experiment.
type CUDA struct {
	// Plugin provides psbench's own parts, under the same keys, on the device of its process.
	Plugin registry.Plugin
	// Devices lists the devices of the core's host. Devices is empty if the CUDA ranks run on other hosts.
	Devices *devices.List
	// Seed is the seed of the CUDA ranks. CUDA ranks use Seed instead of Experiment.Seed.
	Seed uint64
	// whole means that the plugin's server takes whole gradients, even if psbench's own server is elementwise.
	whole bool
}

// Here reports whether CUDA ranks can run on the core's host, so that the plugin can start there.
func (c *CUDA) Here() bool { return len(c.Devices.Devices) > 0 }

// cudaSeed is the key of the option that affects only CUDA ranks.
const cudaSeed = "cuda_seed"

// Ignores reports whether an option has no effect on the experiment, whatever its value is.
func (e *Experiment) Ignores(o option.Option) bool {
	return o.NoEffect != "" && (o.Key != cudaSeed || e.CUDA == nil)
}

// PluginOf returns the plugin that runs a rank's part.
func (e *Experiment) PluginOf(kind sdk.Kind, rank int) registry.Plugin {
	if p := e.Parts[kind].Plugin; p.Name != registry.Builtin || !e.World.CUDA(rank) {
		return p
	}
	return e.CUDA.Plugin
}

// SeedOf returns the seed of a rank.
func (e *Experiment) SeedOf(rank int) uint64 {
	if e.World.CUDA(rank) {
		return e.CUDA.Seed
	}
	return e.Seed
}

// checkCounts checks the numbers of ranks. checkCounts looks for CUDA first, because without CUDA, errors in the
// numbers of CUDA ranks do not matter.
func (r *resolver) checkCounts(ctx context.Context) error {
	if err := r.checkBackend(); err != nil {
		return err
	}
	if r.NCUDATrainer+r.NCUDAServer > 0 {
		if err := r.findCUDA(ctx); err != nil {
			return fmt.Errorf("%s but %w", r.cudaRanks(), err)
		}
	}
	if err := r.exp.World.Check(); err != nil || r.exp.CUDA == nil || !r.exp.CUDA.Here() {
		return err
	}
	if err := r.exp.CUDA.Devices.Check(r.NCUDATrainer + r.NCUDAServer); err != nil {
		return fmt.Errorf("%s but %w", r.cudaRanks(), err)
	}
	return nil
}

// cudaRanks returns the beginning of an error about the CUDA ranks.
func (r *resolver) cudaRanks() string {
	if r.NCUDATrainer > 0 {
		return fmt.Sprintf("%s is %d", r.name("ncudatrainer"), r.NCUDATrainer)
	}
	return fmt.Sprintf("%s is %d", r.name("ncudaserver"), r.NCUDAServer)
}

// checkBackend returns an error if the backend is NCCL and there are trainers without devices, because NCCL connects
// devices.
func (r *resolver) checkBackend() error {
	if r.Backend == Gloo {
		return nil
	}
	key, count := "ncudatrainer", r.NCUDATrainer
	if count > 0 {
		if key, count = "ntrainer", r.NTrainer; count == 0 {
			return nil
		}
		return fmt.Errorf(
			"%s is %s but %s is %d: NCCL connects only CUDA trainers: give --ntrainer 0, or --backend gloo",
			r.name("backend"), r.Backend, r.name(key), count)
	}
	return fmt.Errorf(
		"%s is %s but %s is %d: NCCL connects CUDA trainers: give --ncudatrainer 1 or more, or --backend gloo",
		r.name("backend"), r.Backend, r.name(key), count)
}

// Gloo is the backend for groups in host memory.
const Gloo = "gloo"

// findCUDA finds the devices and the plugin for the CUDA ranks.
func (r *resolver) findCUDA(ctx context.Context) error {
	if r.cuda == nil {
		return fmt.Errorf("nothing looks for CUDA devices here: give --ncudatrainer 0 and --ncudaserver 0")
	}
	found := &CUDA{Seed: r.TorchSeed}
	if r.given(cudaSeed) {
		found.Seed = r.CUDASeed
	}
	var err error
	if found.Devices, err = r.cuda.Devices(ctx, r.NCUDATrainer+r.NCUDAServer); err != nil {
		return err
	}
	if found.Plugin, err = r.cuda.Plugin(ctx, r.registry, result.Build()); err != nil {
		return err
	}
	r.exp.CUDA = found
	return nil
}

// nameGroup sets the name of the trainers' group if the backend is NCCL. The final choice is known only after the
// trainers have joined the group; the run then reports it.
func (r *resolver) nameGroup() {
	if r.Backend == Gloo || !r.exp.Links.Group && !r.exp.Links.Default {
		return
	}
	r.exp.Group = groupOver(r.exp.Fabric)
	r.exp.NotNCCL = r.noNCCL()
}

// noNCCL returns why the trainers' group cannot use NCCL, or "" if it can. The ranks of an NCCL group find each other
// through the memory of their host.
func (r *resolver) noNCCL() string {
	switch {
	case r.NCUDATrainer == 1:
		return "one trainer has no peer to reduce with"
	case len(r.exp.CUDA.Devices.Devices) < r.NCUDATrainer:
		return "NCCL refuses two ranks of one card"
	case !r.exp.Fabric.Maps() || !r.exp.Fabric.OnOneHost():
		return "ranks of NCCL meet in memory that all of them map"
	}
	return ""
}

// checkCUDAParts checks that the chosen parts work on CUDA ranks. CUDA ranks use psbench's own parts, which the CUDA
// plugin provides.
func (r *resolver) checkCUDAParts(ctx context.Context) error {
	if r.exp.CUDA == nil {
		return nil
	}
	if err := r.checkSeeds(); err != nil {
		return err
	}
	plugin := r.exp.CUDA.Plugin
	var served []sdk.Part
	if r.exp.CUDA.Here() {
		var err error
		if served, err = r.partsOf(ctx, plugin); err != nil {
			return fmt.Errorf("%s but %s cannot be asked for its parts: %w", r.cudaRanks(),
				quote.Word(plugin.Command[0]), err)
		}
	}
	for _, kind := range r.onDevices() {
		c := r.chosen[kind]
		apart := r.exp.Isolate[kind]
		own := c.Plugin.Name == registry.Builtin || c.Plugin.Name == plugin.Name
		switch {
		case kind == sdk.KindHook && (apart || !own): // the hook works on buckets in host memory
			continue
		case apart:
			return fmt.Errorf("%s but %s puts the %s into a process beside its trainer, which cannot access the trainer's device memory: isolate only the hook",
				r.cudaRanks(), r.name("isolate"), kind)
		case !own:
			return fmt.Errorf("%s but %s %s is of plugin %s, whose processes compute on the CPU: CUDA ranks have psbench's own parts, as %s serves them",
				r.cudaRanks(), kind, c.Key, c.Plugin.Name, quote.Word(plugin.Command[0]))
		}
		// On other hosts, a rank reports missing parts itself. The servers of psbench-cuda take whole gradients.
		if !r.exp.CUDA.Here() {
			r.exp.CUDA.whole = r.exp.CUDA.whole || kind == sdk.KindServer
			continue
		}
		i := slices.IndexFunc(served, func(p sdk.Part) bool { return p.Kind == kind && p.Key == c.Key })
		if i < 0 {
			return fmt.Errorf("%s but %s has no %s %s%s", r.cudaRanks(), quote.Word(plugin.Command[0]), kind, c.Key,
				those(served, kind))
		}
		if kind == sdk.KindServer {
			r.exp.CUDA.whole = served[i].Timing == 0
		}
	}
	return nil
}

// onDevices returns the kinds of the parts that CUDA ranks run.
func (r *resolver) onDevices() (kinds []sdk.Kind) {
	for _, kind := range registry.Kinds {
		switch {
		case kind == sdk.KindData, kind == sdk.KindServer && r.NCUDAServer == 0, kind != sdk.KindServer &&
			r.NCUDATrainer == 0:
		default:
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// those returns a text that lists the parts of a kind that the plugin has instead.
func those(parts []sdk.Part, kind sdk.Kind) string {
	text := ""
	for _, p := range parts {
		if p.Kind == kind {
			text += ", " + p.Key
		}
	}
	if text == "" {
		return ""
	}
	return ": it has " + quote.Message(text[len(", "):])
}

// checkSeeds returns an error if trainers would start with different parameters. A group never makes such parameters
// equal.
func (r *resolver) checkSeeds() error {
	if r.exp.CUDA.Seed == r.TorchSeed || r.NTrainer == 0 || r.NCUDATrainer == 0 ||
		!r.exp.Links.Group && !r.exp.Links.Default {
		return nil
	}
	return fmt.Errorf("%s is %d but %s is %d, and hook %s connects the CPU and the CUDA trainers: their models must start equal, so leave --cuda-seed out",
		r.name(cudaSeed), r.CUDASeed, r.name("torch_seed"), r.TorchSeed, r.chosen[sdk.KindHook].Key)
}
