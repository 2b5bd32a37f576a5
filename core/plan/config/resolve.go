package config

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/psbench/psbench/core/host/placement"
	"github.com/psbench/psbench/core/plan/config/option"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/comm/fabric"
	"github.com/psbench/psbench/internal/comm/wire"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/spelling"
	"github.com/psbench/psbench/sdk"
)

// autoTransport is the value with which the user leaves the choice of the transport to psbench.
const autoTransport = "auto"

// Catalogue returns the parts of a plugin. Catalogue may start the plugin to ask for them.
type Catalogue func(ctx context.Context, plugin registry.Plugin) ([]sdk.Part, error)

// LoadRegistry reads the built-in registry, the user's registry and the registry files that the configuration names.
// user is the path of the user's registry. The user's registry is skipped if user is "" or the configuration excludes
// it. A file that is named twice is read once.
func (c *Config) LoadRegistry(builtin []byte, user string) (*registry.Registry, error) {
	if c.NoUserRegistry {
		user = ""
	}
	var files []string
	for _, file := range c.Registry {
		if !slices.Contains(files, file) {
			files = append(files, file)
		}
	}
	reg, err := registry.Load(builtin, user, files...)
	if err == nil {
		err = checkDefaults(reg)
	}
	if err != nil && len(files) > 0 {
		return nil, fmt.Errorf("%s: %w", c.name("registry"), err)
	}
	return reg, err
}

// Resolve finds the parts that the configuration chooses and checks that all values fit together. Resolve adds the
// trainer's defaults to the options of c.
func (c *Config) Resolve(ctx context.Context, reg *registry.Registry, catalogue Catalogue) (*Experiment, error) {
	r, err := c.resolver(reg, catalogue)
	if err != nil {
		return nil, err
	}
	steps := []func(context.Context) error{
		r.needs, rule(r.checkHybrid), rule(r.checkCounts), r.chooseTransport, r.chooseParts, rule(r.checkService),
		rule(r.checkHook), rule(r.checkCUDAParts), r.placeSettings, r.configureParts, rule(r.checkAggregate),
		r.configureInTrainer, r.checkUnused, r.finish,
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return r.exp, nil
}

// Chosen returns the chosen parts that have settings. Chosen works even if other values of the configuration are wrong.
func (c *Config) Chosen(ctx context.Context, reg *registry.Registry, catalogue Catalogue) ([]sdk.Part, error) {
	r, err := c.resolver(reg, catalogue)
	if err != nil {
		return nil, err
	}
	for _, step := range []func(context.Context) error{r.needs, r.chooseParts} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	var parts []sdk.Part
	for _, c := range r.settableParts() {
		d, err := r.describe(ctx, c.Item)
		if err != nil {
			return nil, err
		}
		parts = append(parts, d)
	}
	return parts, nil
}

// resolver starts to resolve a configuration. resolver adds the defaults of the trainer and the model.
func (c *Config) resolver(reg *registry.Registry, catalogue Catalogue) (*resolver, error) {
	if err := c.takeDefaults(reg); err != nil {
		return nil, err
	}
	return &resolver{
		Config: c, registry: reg, catalogue: catalogue,
		described: map[string][]sdk.Part{},
		chosen:    map[sdk.Kind]choice{},
		exp: &Experiment{
			World: World{Trainers: c.NTrainer, CUDATrainers: c.NCUDATrainer, Servers: c.NServer,
				CUDAServers: c.NCUDAServer},
			Parts:     map[sdk.Kind]Part{},
			InTrainer: map[sdk.Kind]string{},
			Isolate:   isolated(c.Isolate),
			Length:    c.length(), WarmUp: c.warmUp(), BatchSize: c.BatchSize, Seed: c.TorchSeed,
			Timeout: time.Duration(c.RPCTimeout) * time.Second,
			Listen:  c.Listen, InsecureNetwork: c.InsecureNetwork, Interface: c.Interface,
			Place: placement.Policy(c.Place), Affinity: placement.Affinity(c.Affinity), FailOnNaN: c.OnNaN == "fail",
			Check: c.Check,
		},
	}, nil
}

func isolated(names []string) map[sdk.Kind]bool {
	out := map[sdk.Kind]bool{}
	for _, kind := range registry.Isolable {
		if slices.Contains(names, "all") || slices.Contains(names, string(kind)) {
			out[kind] = true
		}
	}
	return out
}

type resolver struct {
	*Config
	registry  *registry.Registry
	catalogue Catalogue
	described map[string][]sdk.Part // keyed by plugin
	chosen    map[sdk.Kind]choice
	exp       *Experiment
	settings  []result.Value
}

// choice is the item that was chosen for a kind.
type choice struct {
	registry.Item
	declared
	// value is the value in the effective configuration: the id of a configuration or the key of a part.
	value  string
	origin string
	// preset holds the settings of the configuration if its id chose the item.
	preset []assignment
}

// needs stores which service the chosen trainer needs.
func (r *resolver) needs(ctx context.Context) error {
	trainer, err := r.registry.Lookup(sdk.KindTrainer, r.Trainer)
	if err != nil {
		return err
	}
	said, err := r.declare(ctx, trainer)
	r.exp.Service = said.needs
	r.exp.World.EveryServer = said.needs == sdk.ServiceTables
	return err
}

// InsecureNetwork is the warning for runs without TLS.
const InsecureNetwork = "--insecure-network: links between hosts do not use TLS, so anyone on their network can read and change the data"

// chooseTransport resolves the value auto. chooseTransport checks the listening address even if the transport does not
// need one.
func (r *resolver) chooseTransport(context.Context) error {
	var err error
	r.exp.Auto = r.Transport == autoTransport
	if r.exp.Fabric = fabric.Default(); !r.exp.Auto {
		if r.exp.Fabric, err = fabric.Open(r.Transport); err != nil {
			return err
		}
	}
	return r.chooseAddress()
}

// chooseAddress finds the address on which this host listens.
func (r *resolver) chooseAddress() error {
	key := "listen"
	ip, err := netip.ParseAddr(r.Listen)
	switch {
	case r.Interface != "" && r.given(key):
		return fmt.Errorf("%s and %s are both given, but a host listens on one address: leave one of them out",
			r.name("interface"), r.name(key))
	case r.Interface != "":
		key = "interface"
		if ip, err = addressOf(r.Interface); err != nil {
			return fmt.Errorf("%s %s %w", r.name(key), quote.String(r.Interface), err)
		}
		r.exp.Listen = ip.String()
	case err != nil:
		return fmt.Errorf("%s is %s but must be an IP address, as in 127.0.0.1", r.name(key), quote.String(r.Listen))
	}
	if err := wire.CheckIP(ip); err != nil {
		return fmt.Errorf("%s: %w", r.name(key), err)
	}
	if r.given("listen") {
		r.exp.ListenName = r.name("listen")
	}
	if r.InsecureNetwork {
		r.warn("%s", InsecureNetwork)
	}
	if f := r.exp.Fabric; r.given(key) && !f.Network.OnIP() {
		r.warn("%s%s", r.name(key), listensNowhere(f))
	}
	return nil
}

// addressOf returns this host's address on an interface or in a network.
func addressOf(want string) (netip.Addr, error) {
	have, err := placement.Interfaces()
	if err != nil {
		return netip.Addr{}, err
	}
	return placement.ChooseAddress(want, have)
}

func (r *resolver) servers() int { return r.NServer + r.NCUDAServer }

func (r *resolver) chooseParts(ctx context.Context) error {
	for _, kind := range registry.Kinds {
		if kind == sdk.KindServer && r.servers() == 0 {
			r.noServer()
			continue
		}
		c, err := r.choose(kind)
		if err != nil {
			return err
		}
		if c.declared, err = r.declare(ctx, c.Item); err != nil {
			return err
		}
		r.chosen[kind] = c
	}
	return nil
}

// noServer warns about values for servers if the run has no servers.
func (r *resolver) noServer() {
	if r.given("server") {
		r.warn("%s has no effect: there are no servers (%s)", r.name("server"), r.name("nserver"))
	}
	if r.given("server_config_path") {
		r.warn("%s has no effect: there are no servers (%s)", r.name("server_config_path"), r.name("nserver"))
	}
	if r.given("place") && r.Place != string(placement.Spread) { // recorded configurations contain the default too
		r.warn("%s has no effect: there are no servers (%s)", r.name("place"), r.name("nserver"))
	}
	for _, a := range r.Config.settings {
		if a.isFor(sdk.KindServer, "") && (!a.flag || r.takes == nil) {
			r.warn("%s has no effect: there are no servers (%s)", a.label, r.name("nserver"))
		}
	}
}

func (r *resolver) choose(kind sdk.Kind) (choice, error) {
	key := option.For(kind).Key
	name, origin := r.named(kind), r.origin(key)
	if kind == sdk.KindHook && name == "" {
		name, origin = r.defaultHook()
	}
	if _, ok := builtinConfigurations[kind]; ok {
		return r.chooseConfigured(kind, name, origin)
	}
	item, err := r.registry.Lookup(kind, name)
	if err != nil {
		return choice{}, fmt.Errorf("%s: %w", r.name(key), err)
	}
	return choice{Item: item, value: item.Key, origin: origin}, nil
}

// named returns the name of the chosen part of a kind, from its option.
func (r *resolver) named(kind sdk.Kind) string {
	return map[sdk.Kind]string{
		sdk.KindTrainer: r.Trainer, sdk.KindServer: r.Server, sdk.KindHook: r.DDPHook,
		sdk.KindCriterion: r.CreateCriterion, sdk.KindData: r.Data, sdk.KindModel: r.Model,
		sdk.KindDDPModel: r.CreateDDPModel, sdk.KindHookState: r.HookState,
		sdk.KindIterationStep: r.IterationStep, sdk.KindPreprocessData: r.PreprocessData,
	}[kind]
}

// chooseConfigured looks up name first as the id of a configuration, then as the key of a part.
func (r *resolver) chooseConfigured(kind sdk.Kind, name, origin string) (choice, error) {
	byID, err := configurations(kind, r.configurationFile(kind))
	if err != nil {
		return choice{}, fmt.Errorf("%s: %w", r.name(string(kind)+"_config_path"), err)
	}
	c, isID := byID[name]
	if !isID {
		item, err := r.registry.Lookup(kind, name)
		if err != nil {
			known := append(slices.Sorted(maps.Keys(byID)), r.registry.Keys(kind)...)
			return choice{}, fmt.Errorf("%s: unknown %s %s%s", r.name(string(kind)), kind, quote.String(name),
				spelling.Hint(name, known, "", fmt.Sprintf("psbench list %s shows all", kind)))
		}
		return choice{Item: item, value: item.Key, origin: origin}, nil
	}
	item, err := r.registry.Lookup(kind, c.class)
	if err != nil {
		return choice{}, fmt.Errorf("%s_class in %s: %w", kind, c.place, err)
	}
	return choice{
		Item:   item,
		value:  name,
		origin: fmt.Sprintf("%s: %s %s of %s", origin, kind, item.Key, c.place),
		preset: assignmentsFrom(kind, c.settings, c.place),
	}, nil
}

func (r *resolver) warn(format string, args ...any) {
	r.exp.Warnings = append(r.exp.Warnings, fmt.Sprintf(format, args...))
}
