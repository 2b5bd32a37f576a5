package run

import (
	"context"
	"errors"
	"fmt"

	"github.com/psbench/psbench/core/measure/check"
	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/core/process/cluster"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/host"
	"github.com/psbench/psbench/internal/host/convert"
	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/internal/host/traffic"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/sdk"
)

// mostShare is the largest share of a pass that keeping slices may take without a warning.
const mostShare = 0.01

// check recomputes the results of links and servers from the slices that the processes kept. Its error names the first
// wrong element.
func (r *run) check(ctx context.Context) error {
	checks := &result.Checks{Unchecked: r.unchecked()}
	r.result.Checks = checks
	todo := &check.Run{Seed: r.e.Seed, Buckets: r.buckets(), Servers: map[int][]int{},
		Answers: r.e.Parts[sdk.KindServer].Answers, HookAlone: r.e.Links == registry.Links{Server: true}}
	servers := map[int]*process{}
	for _, s := range r.processes.servers {
		todo.Servers[s.rank], servers[s.rank] = r.e.World.TrainersOf(s.rank), s
	}
	spentNS := int64(0)
	for _, t := range r.processes.trainers {
		var kept []*record.Exchange
		keepers := []*process{t.joiner()}
		if t.joiner() != t && r.checksHook() {
			keepers = append(keepers, t)
		}
		for _, p := range keepers {
			for x := range pieces[*record.Exchange](&p.collected) {
				kept = append(kept, x)
			}
			for cost := range pieces[*record.Checked](&p.collected) {
				spentNS = max(spentNS, cost.SpentNS)
				checks.Operations += cost.Operations
			}
		}
		todo.Names, todo.Kept = append(todo.Names, t.Name), append(todo.Kept, kept)
	}
	checks.SpentMS = float64(spentNS) / 1e6
	if pass := result.ThroughputOf(r.works()).Seconds; pass > 0 {
		checks.Share = checks.SpentMS / 1e3 / pass
	}
	if checks.Share > mostShare {
		r.result.Warnings = append(r.result.Warnings,
			fmt.Sprintf("--check took %.4g %% of the pass, more than %g %%: measure longer, since a longer pass keeps a smaller part of its iterations",
				100*checks.Share, 100*mostShare))
	}
	if r.serverUnchecked() == "" {
		todo.Combine = func(server int, pushed [][][]float32) ([][]float32, error) {
			return r.combine(ctx, servers[server], pushed)
		}
	}
	out, err := todo.Do()
	if err != nil {
		return err
	}
	checks.Slices, checks.Elements, checks.Iterations = out.Slices, out.Elements, out.Iterations
	if out.Missing > 0 {
		checks.Unchecked = append(checks.Unchecked, result.Unchecked{
			What:   fmt.Sprintf("%d kept operations", out.Missing),
			Reason: "not every rank that took part has kept its own slice",
		})
	}
	if out.Mismatch != nil {
		return out.Mismatch
	}
	return nil
}

// combine asks a server how it combines the gradients in pushed.
func (r *run) combine(ctx context.Context, server *process, pushed [][][]float32) (answers [][]float32, err error) {
	wait := cluster.Wait{Limit: r.e.Timeout, For: "what it must have answered"}
	err = cluster.Each(ctx, r.cluster, []*process{server}, wait, func(ctx context.Context, p *process) error {
		reply, err := p.Combine(ctx, convert.CombineToProto(pushed))
		if err != nil {
			return err
		}
		for _, b := range reply.GetAnswers() {
			values, err := convert.ValuesFromBytes(b)
			if err != nil {
				return err
			}
			answers = append(answers, values)
		}
		if !fit(answers, pushed) {
			return errors.New(quote.Message(fmt.Sprintf("%s does not say how it combines gradients: %s", p.Name,
				reply.GetUnknown())))
		}
		return nil
	})
	return answers, err
}

// fit reports whether there is an answer of the right size for each list of gradients.
func fit(answers [][]float32, pushed [][][]float32) bool {
	if len(answers) != len(pushed) {
		return false
	}
	for i := range answers {
		if len(answers[i]) != len(pushed[i][0]) {
			return false
		}
	}
	return true
}

// serverUnchecked explains why psbench cannot know the right answers of the run's servers. It returns "" if psbench can
// compute the answers or ask the servers.
func (r *run) serverUnchecked() string {
	part := r.e.Parts[sdk.KindServer]
	switch {
	case r.e.Service == sdk.ServiceTables:
		return "rows of its tables change as the trainers train"
	case r.e.Service == sdk.ServiceParameters:
		return "it answers with parameters, which depend on all pushes before"
	case part.Asynchronous:
		return "it answers before all of its trainers have pushed"
	case !part.Elementwise && !said(part):
		return "it is no elementwise server, and does not declare that it answers the mean or the sum"
	}
	for _, s := range r.processes.servers {
		if old := oldContract(s); old != "" {
			return old
		}
	}
	return ""
}

// checksHook reports whether trainers must keep slices at the hook itself. For psbench's own hooks, slices at the links
// are enough. A hook that uses servers is checked only if the servers answer with the mean.
func (r *run) checksHook() bool {
	hook, server := r.e.Parts[sdk.KindHook], r.e.Parts[sdk.KindServer]
	if r.e.Links.Server && (server.Answers != sdk.AnswersMean || r.e.Service != sdk.ServiceGradients) {
		return false
	}
	return r.e.Check && hook.Plugin.Name != registry.Builtin && said(hook)
}

// said reports whether a part declares an answer that psbench can recompute from any slice.
func said(part config.Part) bool {
	return part.Answers == sdk.AnswersMean || part.Answers == sdk.AnswersSum
}

// oldContract explains that the plugin of a process is too old for checks. It returns "" if the plugin is new enough.
func oldContract(p *process) string {
	if !host.ParseVersion(p.Contract()).Before(host.Checks) {
		return ""
	}
	return fmt.Sprintf("plugin %s speaks version %s of psbench's contract with plugins, but checks need %s: build it with the sdk of this psbench",
		p.Plugin.Name, p.Contract(), host.Checks)
}

// unchecked lists the parts whose results psbench cannot recompute.
func (r *run) unchecked() (list []result.Unchecked) {
	add := func(what, reason string) {
		if reason != "" {
			list = append(list, result.Unchecked{What: what, Reason: reason})
		}
	}
	hook := r.e.Parts[sdk.KindHook]
	if (r.e.Links == registry.Links{}) {
		add("hook "+hook.Key, "it uses no link")
	}
	if server := r.e.Parts[sdk.KindServer].Key; server != "" && (r.e.Links.Server || r.e.Service == sdk.ServiceTables) {
		what := "answers of server "
		if r.e.Service == sdk.ServiceTables {
			what = "rows looked up and pushed to the tables of server "
		}
		why := r.serverUnchecked()
		if why == "" && traffic.PushRounds(r.traffic()) > 0 {
			why = "it takes planned payloads, of which --check keeps no slices"
		}
		add(what+server, why)
		if plugin := r.e.Parts[sdk.KindServer].Plugin.Name; why == "" && plugin != registry.Builtin &&
			!said(r.e.Parts[sdk.KindServer]) {
			add("what server "+server+" makes of gradients",
				fmt.Sprintf("it is of plugin %s, and only its Combine and Finish define the right answer: --check does not find an error that they always make",
					plugin))
		}
	}
	if r.traffic() != nil {
		add("payloads of the rounds of hook "+hook.Key, "--check keeps slices of buckets alone")
	}
	joiner := r.processes.trainers[0].joiner()
	add("payloads of hook "+hook.Key, oldContract(joiner))
	if hook.Plugin.Name != registry.Builtin && !r.checksHook() {
		add("what hook "+hook.Key+" itself does to a bucket",
			fmt.Sprintf("it is of plugin %s, and does not declare that it leaves the mean or the sum: what it gives to its links is checked, and what they leave",
				hook.Plugin.Name))
	}
	if joiner != r.processes.trainers[0] && !r.checksHook() {
		add("buckets between a trainer and hook "+hook.Key,
			"the hook is in a process of its own, which keeps what it gives to its links")
	}
	return list
}
