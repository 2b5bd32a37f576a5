package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/core/host/placement"
	"github.com/psbench/psbench/core/measure/micro"
	"github.com/psbench/psbench/core/plan/config/option"
	"github.com/psbench/psbench/core/process/cluster"
	"github.com/psbench/psbench/core/show/comm"
	"github.com/psbench/psbench/core/show/progress"
	"github.com/psbench/psbench/core/show/report"
	"github.com/psbench/psbench/internal/bytesize"
	"github.com/psbench/psbench/internal/comm/bench"
	"github.com/psbench/psbench/internal/comm/fabric"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/spelling"
)

// The transport named autoTransport lets psbench choose. The flag serverPlaceFlag replaces --place of run, because
// comm uses --place for something else.
const (
	autoTransport   = "auto"
	serverPlaceFlag = "server-place"
)

// commFlags are the flags of psbench comm that are not options of a run.
type commFlags struct {
	sizes, dtypes, least, most, transport, place, servers, expect, format string
	factor                                                                int
	fresh, warm, sparse, noLimits                                         bool
	plan                                                                  micro.Plan // set directly by flags
}

func (a *app) commCommand() *cobra.Command {
	f := &commFlags{}
	cmd := &cobra.Command{
		Use:   "comm [OPERATION...]",
		Short: "Measure the data plane by itself",
		Long: `comm measures operations on buckets of several sizes, on real processes but
without a model: pushpull with a server, the collectives allreduce,
reducescatter, allgather, alltoall, broadcast and barrier among the trainers,
and hook, which has a hook reduce the buckets as in training. Without arguments
it measures pushpull and allreduce; with --ddp-hook the hook, and pushpull if a
server is given as well. Every fresh round is verified.`,
		Example: lines(
			"psbench comm",
			"psbench comm pushpull --server average_batch --ntrainer 4 --sizes 1M,25M",
			"psbench comm allreduce --dtype float32,bfloat16",
			"psbench comm allreduce --transport shm,tcp --fresh --warm",
			"psbench comm --registry mine.json --ddp-hook mine --server median",
			"psbench comm --sparse --density 0.1 --json comm.json",
		),
		ValidArgs: operationNames(),
		RunE: func(cmd *cobra.Command, args []string) error {
			plan, opts, err := a.commPlan(cmd, f, args)
			if err != nil {
				return err
			}
			return a.runComm(cmd.Context(), plan, opts, f.format)
		},
	}
	a.addFlags(cmd, "ntrainer", "nserver", "server", "ddp_hook", "set", "registry", "no_user_registry", "rpc_timeout",
		"affinity", "aggregate", "listen", "interface", "insecure_network", "json", "out", "report", "quiet",
		"plugin_output", "plugin_memory", "log_dir")
	f.add(cmd)
	return cmd
}

// add registers the flags on the command.
func (f *commFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.sizes, "sizes", "4K,64K,1M,4M,25M,64M", "`SIZE,...` of the buckets in bytes")
	flags.StringVar(&f.dtypes, "dtype", string(tensor.Float32),
		"element types of the buckets, as a `LIST` of "+tensor.JoinTypes(tensor.Types))
	flags.StringVar(&f.least, "min", "", "smallest `SIZE`, instead of --sizes (default 4K)")
	flags.StringVar(&f.most, "max", "", "largest `SIZE`, instead of --sizes (default 64M)")
	wholeVar(flags, &f.factor, "factor", 4, "each size from --min to --max is `N` times the previous one")
	flags.StringVar(&f.transport, "transport", autoTransport, "transports, which take turns, as a `LIST` of "+
		strings.Join(fabric.Names(), ", ")+"; auto is "+fabric.Default().Name+" on one host, "+
		fabric.DefaultAcross().Name+" on several")
	flags.BoolVar(&f.fresh, "fresh", false,
		"new values before each round, every round verified; the default unless --warm is given")
	flags.BoolVar(&f.warm, "warm", false, "zeros in every round, and rounds back to back")
	flags.StringVar(&f.place, "place", string(micro.InPlace),
		"memory of the gradients, as a `LIST` of inplace and copy (on the heap)")
	flags.StringVar(&f.servers, serverPlaceFlag, string(placement.Spread),
		"`POLICY` that places servers, as --place of psbench run: "+option.OneOf(placement.Policies))
	flags.BoolVar(&f.sparse, "sparse", false, "buckets are tables, and each rank pushes some of the rows")
	wholeVar(flags, &f.plan.Width, "width", 128, "`N` elements in a row, with --sparse")
	numberVar(flags, &f.plan.Density, "density", 0.5, "`SHARE` of the rows that a rank pushes, with --sparse")
	flags.StringVar(&f.expect, "expect", string(micro.Mean),
		"expected `ANSWER` of the server or hook: mean, sum, part (ask the part) or any (not verified); for parts of other plugins by default the declared answer, else part")
	wholeVar(flags, &f.plan.Rounds, "rounds", 0, "`N` rounds in a row of the table, instead of --seconds")
	numberVar(flags, &f.plan.Seconds, "seconds", 1,
		"`TIME` for the rounds of a row; each row has 20 to 3000 rounds")
	wholeVar(flags, &f.plan.Repeat, "repeat", 3, "`N` turns in which the rounds of a row are measured")
	flags.BoolVar(&f.noLimits, "no-limits", false, "do not measure the machine's limits")
	flags.StringVar(&f.format, "format", "table", "`FORMAT` of the output: table, or bench, the Go benchmark format")
	for flag, choices := range map[string][]string{
		"dtype":     texts(tensor.Types),
		"transport": append(fabric.Names(), autoTransport), "place": texts(micro.Places),
		"expect": texts(micro.Expects), serverPlaceFlag: placement.Policies,
		"format": {"table", "bench"},
	} {
		_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(choices, cobra.ShellCompDirectiveNoFileComp))
	}
}

// commPlan returns the plan of the command line. It starts nothing. It returns a usage error if a flag is wrong.
func (a *app) commPlan(cmd *cobra.Command, f *commFlags, args []string) (*micro.Plan, option.Options, error) {
	var none option.Options
	plan, err := f.read(cmd, args)
	if err != nil {
		return nil, none, usageError{err}
	}
	exp, opts, err := a.resolve(cmd)
	if err != nil {
		return nil, none, err
	}
	if a.lone != "" {
		plan.Warnings = append(plan.Warnings, a.lone)
	}
	if err := plan.Take(exp,
		micro.Given{ServerPlace: cmd.Flags().Changed(serverPlaceFlag),
			Expect: cmd.Flags().Changed("expect")}); err != nil {
		return nil, none, err
	}
	if err := plan.Check(); err != nil {
		return nil, none, usageError{err}
	}
	return plan, opts, nil
}

// read parses the flags that are not options of a run.
func (f *commFlags) read(cmd *cobra.Command, args []string) (*micro.Plan, error) {
	p := f.plan
	for _, pair := range [][2]string{{"rounds", "seconds"}, {"sizes", "min"}, {"sizes", "max"}, {"sizes", "factor"}} {
		if cmd.Flags().Changed(pair[0]) && cmd.Flags().Changed(pair[1]) {
			return nil, fmt.Errorf("--%s and --%s exclude each other", pair[0], pair[1])
		}
	}
	if len(args) == 0 {
		args = defaultOperations(cmd)
	}
	operations, err := choose("operation", args, operationNames())
	if err != nil {
		return nil, err
	}
	for _, name := range operations {
		p.Operations = append(p.Operations, bench.Find(name))
	}
	if p.Types, err = choose("element type", strings.Split(f.dtypes, ","), tensor.Types); err != nil {
		return nil, err
	}
	if p.Fabrics, err = f.fabrics(); err != nil {
		return nil, err
	}
	policy, err := choose("placement", []string{f.servers}, placement.Policies)
	if err != nil {
		return nil, err
	}
	p.ServerPlace = placement.Policy(policy[0])
	if p.Places, err = choose("place", strings.Split(f.place, ","), micro.Places); err != nil {
		return nil, err
	}
	expect, err := choose("answer", []string{f.expect}, micro.Expects)
	if err != nil {
		return nil, err
	}
	if _, err := choose("format", []string{f.format}, []string{"table", "bench"}); err != nil {
		return nil, err
	}
	if cmd.Flags().Changed("rounds") && p.Rounds == 0 {
		return nil, fmt.Errorf("--rounds is 0 but must be 1 or more")
	}
	p.Expect, p.Sparse, p.Limits = expect[0], f.sparse, !f.noLimits
	if f.fresh || !f.warm {
		p.Modes = append(p.Modes, micro.Fresh)
	}
	if f.warm {
		p.Modes = append(p.Modes, micro.Warm)
	}
	p.Sizes, err = f.readSizes(cmd)
	return &p, err
}

// fabrics returns the transports that take turns, or none if psbench chooses.
func (f *commFlags) fabrics() (all []*fabric.Fabric, err error) {
	if f.transport == autoTransport {
		return nil, nil
	}
	names, err := choose("transport", strings.Split(f.transport, ","), fabric.Names())
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		one, err := fabric.Open(name)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// defaultOperations returns the operations that suit the given parts.
func defaultOperations(cmd *cobra.Command) []string {
	switch given := cmd.Flags().Changed; {
	case given("ddp-hook") && given("server"):
		return []string{bench.PushPull.Name, bench.Hook.Name}
	case given("ddp-hook"):
		return []string{bench.Hook.Name}
	case cmd.Flag("dtype").Value.String() != string(tensor.Float32): // servers and hooks know float32 alone
		return []string{bench.AllReduce.Name}
	default:
		return []string{bench.PushPull.Name, bench.AllReduce.Name}
	}
}

func operationNames() []string {
	var names []string
	for _, o := range bench.Operations {
		names = append(names, o.Name)
	}
	return names
}

func (f *commFlags) readSizes(cmd *cobra.Command) ([]int, error) {
	flags := cmd.Flags()
	if !flags.Changed("min") && !flags.Changed("max") && !flags.Changed("factor") {
		sizes, err := micro.ParseSizes(f.sizes)
		if err != nil {
			return nil, fmt.Errorf("--sizes %w", err)
		}
		return sizes, nil
	}
	bounds := [2]int{4 << 10, 64 << 20}
	for i, given := range []struct{ flag, text string }{{"min", f.least}, {"max", f.most}} {
		if !flags.Changed(given.flag) {
			continue
		}
		var err error
		if bounds[i], err = bytesize.Parse(given.text); err != nil {
			return nil, fmt.Errorf("--%s %w", given.flag, err)
		}
	}
	return micro.SizesBetween(bounds[0], bounds[1], f.factor)
}

// choose parses names. Each name must be one of the choices and appear only once. The noun names the choices in
// errors.
func choose[T ~string](noun string, names []string, choices []T) ([]T, error) {
	var chosen []T
	for _, name := range names {
		name := T(strings.TrimSpace(name))
		switch {
		case slices.Contains(chosen, name):
			return nil, fmt.Errorf("%s %s is given twice", noun, quote.Word(string(name)))
		case slices.Contains(choices, name):
			chosen = append(chosen, name)
		default:
			return nil, fmt.Errorf("unknown %s %s%s", noun, quote.String(string(name)),
				spelling.Hint(string(name), texts(choices), noun+"s", "psbench comm --help shows all"))
		}
	}
	return chosen, nil
}

func texts[T ~string](values []T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}

func (a *app) runComm(ctx context.Context, plan *micro.Plan, opts option.Options, format string) error {
	o := micro.Options{Command: os.Args, StartedNS: startedNS}
	return carryOut(ctx, a, opts, measurement[*micro.Result]{
		pending: micro.Pending(o),
		run: func(ctx context.Context, p *progress.Progress, c cluster.Options) (*micro.Result, error) {
			o.Progress, o.Options = p, c
			return micro.Run(ctx, plan, o)
		},
		write: func(w io.Writer, width int, r *micro.Result) error {
			if format == "bench" {
				return micro.GoBench(w, r)
			}
			return comm.Text(w, r, report.Options{Report: opts.Report, Width: width})
		},
	})
}
