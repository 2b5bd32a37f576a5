package report

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/sdk"
)

// stamped returns a run of connected trainers and one server. Every iteration has a stamp and takes 20 ms; 1 % of the
// time is in no part. For systems other than ddp, the extra parts come after the backward pass.
func stamped(trainers int, system string) *result.Result {
	const ms = 1_000_000
	const epochs, batches = 5, 4
	r := synthetic()
	r.Warnings, r.Series, r.Losses, r.Connected = nil, nil, nil, [][]int{{}}
	r.Processes = nil
	r.Data = result.Partition{Samples: 40 * trainers, Batches: batches * trainers, LargestBatch: 10}
	for rank := range trainers {
		r.Processes = append(r.Processes,
			result.Process{Name: fmt.Sprintf("trainer%d", rank), Rank: rank, Kind: "trainer", Key: system,
				Plugin: "builtin"})
		r.Connected[0] = append(r.Connected[0], rank)
		r.Data.BatchesPerTrainer = append(r.Data.BatchesPerTrainer, batches)
		r.Data.SamplesPerTrainer = append(r.Data.SamplesPerTrainer, 10*batches)
		var losses []float64
		for i := range epochs * batches {
			losses = append(losses, 6.9-float64(i)/100-float64(rank)/1000)
			key := sdk.Key{A: int64(i / batches), B: int64(i % batches)}
			at := int64(1e9 + i*20*ms)
			add := func(typ, name string, ns int64) {
				r.SeriesOf(rank, typ, name).Add(sdk.Measurement{Key: key, StartNS: at, DurationNS: ns})
				at += ns
			}
			add("iteration_metric", "data", ms/10)
			at += ms / 10
			start := at
			if system == "hybrid" {
				add("lookup_metric", "lookup", 1*ms)
			}
			add("forward_metric", "forward_pass", 4*ms)
			forwardEnd := at
			add("iteration_metric", "backward", 8*ms+int64((rank+i)%trainers)*ms/10)
			reduced := int64(1e9+i*20*ms) + 17*ms
			add("iteration_metric", "exposed communication", reduced-at)
			r.SeriesOf(rank, "backward_metric", "backward").Add(sdk.Measurement{Key: key, StartNS: forwardEnd,
				DurationNS: at - forwardEnd})
			last := "optimizer"
			if system == "batch_update" {
				last = "parameters"
			}
			end := int64(1e9+i*20*ms) + 20*ms - ms/10
			if system == "hybrid" {
				add("iteration_metric", last, (end-at)/2)
				last = "exposed update"
				r.SeriesOf(rank, "update_metric", "embedding_update").Add(sdk.Measurement{Key: key, StartNS: reduced,
					DurationNS: end - reduced})
			}
			add("iteration_metric", last, end-at)
			for bucket := range int64(3) {
				r.SeriesOf(rank, "hook_future_metric",
					hookOf(system)).Add(sdk.Measurement{Key: sdk.Key{A: int64(i), B: bucket}, StartNS: start,
					DurationNS: (bucket + 2) * ms})
			}
			r.SeriesOf(rank, "batch_level_metric", "batch_all").Add(sdk.Measurement{Key: key, StartNS: start,
				DurationNS: end - start})
		}
		r.Losses = append(r.Losses, losses)
	}
	server := trainers
	r.Processes = append(r.Processes,
		result.Process{Name: fmt.Sprintf("server%d", server), Rank: server, Kind: "server", Key: "average",
			Plugin: "builtin"})
	for _, m := range serverMetrics[system] {
		for i := range int64(20) {
			typ, name, _ := strings.Cut(m, ",")
			r.SeriesOf(server, typ, name).Add(sdk.Measurement{Key: sdk.Key{A: i, B: int64(trainers)},
				StartNS: 1e9 + i*20*ms, DurationNS: (i + 1) * ms / 10})
		}
	}
	for i, v := range r.Config {
		if v.Key == "trainer" {
			r.Config[i].Value = system
		}
	}
	return r
}

func hookOf(system string) string {
	if system == "hybrid" {
		return "gloo_dense_allreduce"
	}
	return "rpc_dense"
}

var serverMetrics = map[string][]string{
	"ddp": {
		"parameter_server_straggler_metric,param_index_straggler", "parameter_server_batch_metric,param_index_batch",
		"method_metric,median computation", "strange_metric,of a stranger",
	},
	"hybrid":       {"embedding_metric,lookup", "embedding_metric,update"},
	"batch_update": {"batch_update_metric,got update", "batch_update_metric,updated model"},
}

// withEvaluation adds the results of evaluations to a result.
func withEvaluation(r *result.Result, epochs int) *result.Result {
	r.Evaluation = evaluated(epochs).Evaluation
	return r
}

// withHook gives trainer 0 a hook that takes 2 ms of each backward pass, and 3 ms of the following time, before it
// calls its links. The hooks of other trainers call their links at once.
func withHook(r *result.Result) *result.Result {
	for _, p := range ranksOf(r.Processes, "trainer") {
		i := int64(0)
		for m := range r.SeriesOf(p.Rank, "iteration_metric", "exposed communication").All() {
			stamp := func(name string, from, took int64) {
				r.SeriesOf(p.Rank, record.HookMetric, name).Add(sdk.Measurement{Key: sdk.Key{A: i},
					StartNS: m.StartNS + from, DurationNS: took})
			}
			if p.Rank == 0 {
				stamp(record.HookBlocking, -3e6, 2e6)
				stamp(record.HookBeside, -1e6, 4e6)
			} else {
				stamp(record.HookBlocking, -3e6, 1e3)
				stamp(record.HookBeside, -3e6+1e3, 1e3)
			}
			i++
		}
	}
	return r
}

// failing changes a result so that it describes a run that ended early.
func failing(r *result.Result, pass string) *result.Result {
	r.Complete, r.Error, r.Pass = false, "trainer1 was killed by signal 9 (possibly out of memory)", pass
	return r
}

// warned adds n long warnings to a result.
func warned(r *result.Result, n int) *result.Result {
	for i := range n {
		r.Warnings = append(r.Warnings, fmt.Sprintf("warning %d is %s", i, strings.Repeat("many words long ", 12)))
	}
	return r
}

func TestReports(t *testing.T) {
	for name, r := range map[string]*result.Result{
		"ddp": stamped(2, "ddp"), "hybrid": stamped(8, "hybrid"), "batch_update": stamped(3, "batch_update"),
		"evaluation": warned(withEvaluation(stamped(2, "ddp"), 5), 3),
		"incomplete": failing(stamped(4, "ddp"), result.Measured),
		"warm_up":    failing(stamped(4, "ddp"), result.WarmUp), "hook": withHook(stamped(2, "ddp")),
	} {
		t.Run(name, func(t *testing.T) {
			committed(t, "report_"+name+".txt", text(t, r, Options{Width: 80}))
			committed(t, "summary_"+name+".txt", text(t, r, Options{Report: Summary, Width: 80}))
		})
	}
	committed(t, "full_ddp.txt", text(t, stamped(2, "ddp"), Options{Report: Full}))
	_, times, _ := strings.Cut(text(t, withHook(stamped(2, "ddp")), Options{Report: Full}), "where the time goes")
	committed(t, "times_hook.txt", times)
	committed(t, "piped_ddp.txt", text(t, warned(stamped(8, "ddp"), 3), Options{}))
}

// The final report of any run fits a terminal of 25 lines with the prompt. The answer is complete and comes last.
func TestTheEndOfARunFitsTheTerminal(t *testing.T) {
	for name, r := range map[string]*result.Result{
		"ddp": stamped(2, "ddp"), "32 trainers": stamped(32, "ddp"), "hybrid": stamped(8, "hybrid"),
		"batch_update": stamped(3, "batch_update"),
		"updating":     updating(7), "evaluation": withEvaluation(stamped(32, "hybrid"), 100),
		"incomplete": failing(stamped(32, "hybrid"), result.WarmUp),
		"unstamped":  synthetic(), "numbers": numbered(stamped(8, "hybrid"), 1),
		"many numbers": numbered(stamped(2, "ddp"), 7),
		"hook":         withHook(stamped(8, "hybrid")),
	} {
		t.Run(name, func(t *testing.T) {
			for _, warnings := range []int{0, 1, 2, 5, 40} {
				r := warned(copyOf(r), warnings)
				for _, width := range []int{80, 100, 160} {
					got := text(t, r, Options{Width: width})
					lines := strings.Split(strings.TrimSuffix(got, "\n"), "\n")
					if len(lines) > 24 {
						t.Errorf("%s with %d warnings takes %d lines of %d columns:\n%s", name, warnings, len(lines),
							width, got)
					}
					for _, line := range lines {
						if utf8.RuneCountInString(line) > width {
							t.Errorf("%s has a line wider than %d: %s", name, width, line)
						}
					}
					if !strings.Contains(got, "ms, all ranks") ||
						r.Complete && r.Connected != nil && !strings.Contains(got, "\n  forward") {
						t.Errorf("%s with %d warnings has too little of the table on %d columns:\n%s", name, warnings,
							width, got)
					}
					summary := text(t, copyOf(r), Options{Report: Summary, Width: width})
					answer, _, _ := strings.Cut(summary[strings.Index(summary, "throughput"):], "warning:")
					answer, _, _ = strings.Cut(answer, "\nnumbers ") // the table shows the numbers as rows
					if !strings.Contains(got, answer) {
						t.Errorf("%s lacks the answer\n%s\nin\n%s", name, answer, got)
					}
					if warnings > 0 && !strings.Contains(got, "warning: "+r.Warnings[0][:20]) {
						t.Errorf("%s has no warning:\n%s", name, got)
					}
				}
			}
		})
	}
}

// copyOf returns a copy of r with its own slice of warnings.
func copyOf(r *result.Result) *result.Result {
	c := *r
	c.Warnings = slices.Clone(r.Warnings)
	return &c
}

// The report counts the rows and warnings that it leaves out.
func TestWhatIsLeftOutIsSaid(t *testing.T) {
	full := text(t, warned(stamped(8, "hybrid"), 9), Options{})
	got := text(t, warned(stamped(8, "hybrid"), 9), Options{Width: 80})
	said := func(what string) int {
		found := regexp.MustCompile(`(?m)` + what).FindStringSubmatch(got)
		if found == nil {
			return 0
		}
		n, _ := strconv.Atoi(found[1])
		return n
	}
	rows, warnings := said(`^more .* \((\d+) more rows\)`), said(`^(\d+) more warnings: `)
	if rows == 0 || warnings != 9-strings.Count(got, "warning: ") || warnings == 0 {
		t.Errorf("%d rows and %d warnings are left out of\n%s", rows, warnings, got)
	}
	if all := strings.Count(full[:strings.Index(full, "throughput")],
		"\n"); all != strings.Count(got[:strings.Index(got, "throughput")], "\n")+rows {
		t.Errorf("%d rows are left out of\n%s\nof\n%s", rows, got, full)
	}
}

// Every metric that psbench measures has a unique name and an explanation.
func TestEveryRowHasAName(t *testing.T) {
	names := map[string]bool{}
	for _, term := range terms {
		if term.name == "" || term.means == "" || names[term.name] {
			t.Errorf("%+v has no name and meaning of its own", term)
		}
		names[term.name] = true
		if n := len(term.name); n > 30 {
			t.Errorf("%q has %d letters", term.name, n)
		}
	}
}
