package main

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/psbench/psbench/core/measure/micro"
	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/core/record/folder"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/core/show/comm"
	"github.com/psbench/psbench/core/show/report"
	"github.com/psbench/psbench/core/show/sketch"
	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/core/study/sweep"
	"github.com/psbench/psbench/core/study/words"
	"github.com/psbench/psbench/internal/quote"
)

func (a *app) showCommand() *cobra.Command {
	var many studyFlags
	var pictures picturesFlag
	cmd := &cobra.Command{
		Use:   "show DIR|FILE...",
		Short: "Print the tables of a recorded run, or the answer of a sweep",
		Long: `show prints the tables and the answer of a recorded run again, as --report and --stats say.
It computes tables, throughput and evaluation anew from the recorded numbers. It takes the
folder written by --out or the file written by --json; for psbench comm it takes the folder.
A file may be compressed; - is standard input. Both may be of an older psbench.

For the folder of a sweep, or for several runs, it prints a table of the cells and the answer: what is
proven, which cells are recommended, and what is not proven. --report full adds the details: losses,
what limits the winner, times of iterations, and all warnings.

On a terminal it first draws a picture: how long the iterations of a run took, or how the
cells scale over an axis of numbers.`,
		Example: lines(
			"psbench show runs/1",
			"psbench show run.json",
			"psbench show run.json.gz --report full",
			"psbench show SWEEP --target auc=0.80",
			"psbench show runs/* --metric time_per_batch",
		),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("show takes a folder or a file, but none is given")
			}
			return nil
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveDefault // files and folders
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := config.Merge(config.Sources{Environ: a.environ, Flags: cmd.Flags()})
			if err != nil {
				return err
			}
			if err := many.check(cmd.Flags(), args); err != nil {
				return err
			}
			pictures.given = cmd.Flags().Changed("pictures")
			if isStudy(args) {
				return a.showStudy(args, many, pictures, c.Report == report.Full)
			}
			return a.show(args[0], pictures, report.Options{Report: c.Report, Stats: c.Stats, Width: widthOf(a.stdout)})
		},
	}
	a.addFlags(cmd, "report", "stats")
	many.add(cmd)
	cmd.Flags().BoolVar(&pictures.on, "pictures", false,
		"draw pictures into a file or a pipe, too; --pictures=false draws none on a terminal")
	return cmd
}

// show prints the tables of a recorded run.
func (a *app) show(path string, pictures picturesFlag, o report.Options) error {
	if folder.IsComm(path) {
		r, err := micro.ReadFolder(path)
		if err != nil {
			return err
		}
		return comm.Text(a.stdout, r, o)
	}
	r, err := readResult(path)
	if err != nil {
		return err
	}
	if err := a.drawRun(r, pictures); err != nil {
		return err
	}
	return report.Text(a.stdout, r, o)
}

func readResult(path string) (*result.Result, error) {
	if path == "-" {
		return result.ReadFrom(os.Stdin, "standard input")
	}
	return folder.Read(path)
}

// given names the arguments of a command that takes exactly one argument. It includes the verb, as in "a and b are".
func given(args []string) string {
	if len(args) == 0 {
		return "none is"
	}
	return quote.Message(strings.Join(args, " and ")) + " are"
}

// studyFlags are the flags of commands that show many runs.
type studyFlags struct {
	metric, target string
	mostFailed     mostFailed
}

func (f *studyFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.metric, "metric", "",
		"`METRIC` by which cells of a sweep, or many runs, are compared; by default the metric of the sweep, or throughput")
	cmd.Flags().StringVar(&f.target, "target", "",
		"`METRIC=VALUE` to reach; the answer has its price in seconds and bytes, e.g. auc=0.80 or held_out_loss=0.3")
	f.mostFailed.add(cmd)
	_ = cmd.RegisterFlagCompletionFunc("metric",
		func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			var names []string
			for _, m := range model.Metrics {
				names = append(names, m.Name+"\t"+m.Means)
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		})
	_ = cmd.RegisterFlagCompletionFunc("target",
		func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"auc=", "accuracy=", "held_out_loss="},
				cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		})
}

// isStudy reports whether paths are a sweep or several runs.
func isStudy(paths []string) bool { return len(paths) > 1 || sweep.IsSweep(paths[0]) }

// check refuses flags that do not apply to these paths.
func (f *studyFlags) check(flags *pflag.FlagSet, paths []string) error {
	many := isStudy(paths)
	for name, ofMany := range map[string]bool{"metric": true, "target": true, mostFailedFlag: true, "stats": false} {
		switch {
		case !flags.Changed(name) || ofMany == many:
		case ofMany && missing(paths[0]):
			return nil // the error about the missing path is better
		case ofMany:
			return usagef("--%s is for a sweep or many runs, but only %s given", name,
				strings.Replace(given(paths), " are", " is", 1))
		default:
			return usagef("--%s is for one run, but a sweep or many runs are given", name)
		}
	}
	return nil
}

// missing reports whether a path does not exist.
func missing(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist) && path != "-"
}

// showStudy prints the cells of a sweep or of many runs, and the main results. If full is true, it prints all
// details.
func (a *app) showStudy(paths []string, f studyFlags, pictures picturesFlag, full bool) error {
	s, err := f.mostFailed.loader().Load(paths)
	if err != nil {
		return err
	}
	if err := a.drawStudy(s, f.metric, pictures); err != nil {
		return err
	}
	return words.WriteStudy(a.stdout, s,
		words.Options{Metric: f.metric, Target: f.target, Width: widthOf(a.stdout), Full: full})
}

// picturesFlag controls whether psbench show draws pictures. By default it draws only on a terminal, so other
// programs read plain tables.
type picturesFlag struct{ given, on bool }

// style returns the style of pictures. The second result is false if psbench draws none.
func (a *app) style(f picturesFlag) (sketch.Style, bool) {
	out := a.stdout
	if o, ok := out.(*output); ok {
		out = o.w
	}
	terminal := isTerminal(out)
	return sketch.Style{
		Width:  widthOf(a.stdout),
		Colour: terminal && a.variable("NO_COLOR") == "" && a.variable("TERM") != "dumb",
		ASCII:  !a.showsUTF8(),
	}, f.on || !f.given && terminal
}

// showsUTF8 reports whether the locale uses UTF-8. Without a locale psbench assumes UTF-8.
func (a *app) showsUTF8() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if locale := strings.ToLower(a.variable(name)); locale != "" {
			return strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8")
		}
	}
	return true
}

// drawRun draws the distribution of a run's iteration times.
func (a *app) drawRun(r *result.Result, f picturesFlag) error {
	if s, ok := a.style(f); ok {
		return sketch.Iterations(a.stdout, r, s)
	}
	return nil
}

// drawStudy draws the medians of cells over a numeric axis.
func (a *app) drawStudy(s *model.Study, metric string, f picturesFlag) error {
	style, ok := a.style(f)
	if !ok {
		return nil
	}
	m, err := s.MetricOr(metric)
	if err != nil {
		return err
	}
	return sketch.Scaling(a.stdout, s, m, style)
}
