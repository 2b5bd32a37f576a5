package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/core/measure/run"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/sdk"
)

// plannedHooks are hooks of the late plugin that plan their traffic. Each averages over the trainers, in two rounds.
func plannedHooks() []sdk.Part {
	return []sdk.Part{
		sdk.Answering(sdk.AnswersMean,
			sdk.NewPlannedHook("scattering", struct{}{}, planScattering, newScattering, sdk.LinkGroup)),
		sdk.NewPlannedHook("scaling", struct{}{}, planScaling, newScaling, sdk.LinkGroup),
		sdk.Answering(sdk.AnswersMean, sdk.NewPlannedHook("pieces", pieced{2}, planPieces, newPieces, sdk.LinkServer)),
		sdk.NewPlannedHook("misplanned", misplan{Kind: "allreduce", Type: "float32", Elements: 1}, planMisplanned,
			newMisplanned, sdk.LinkGroup),
	}
}

// scattering reduces and scatters dense buckets, divides its own shard, and gathers the shards. It all-reduces sparse
// buckets over the group that it declares.
type scattering struct{ env sdk.HookEnv }

func planScattering(_ struct{}, env sdk.TrafficEnv) (sdk.Traffic, error) {
	plan := make(sdk.Traffic, len(env.Buckets))
	for i, b := range env.Buckets {
		if !b.Sparse {
			plan[i] = []sdk.Round{{{Kind: sdk.ReduceScatter, Type: tensor.Float32, Elements: b.Elements}},
				{{Kind: sdk.AllGather, Type: tensor.Float32, Elements: b.Elements}}}
		}
	}
	return plan, nil
}

func newScattering(_ struct{}, env sdk.HookEnv) (sdk.Hook, error) { return &scattering{env}, nil }

func (h *scattering) Reduce(state sdk.HookState, b *tensor.Bucket) *comm.Future {
	if b.Sparse {
		return h.env.Group.Average(state.Batch(), b)
	}
	return h.env.Rounds.Reduce(state, b, h)
}

func (h *scattering) Step(_ sdk.HookState, round int, b *tensor.Bucket, payloads [][]*tensor.Bucket) error {
	switch round {
	case 0:
		copy(payloads[0][0].Gradient.Values, b.Gradient.Values)
	case 1:
		from, to := b.Shard(h.env.Trainers, h.env.Rank)
		for i := from; i < to; i++ {
			payloads[1][0].Gradient.Values[i] = payloads[0][0].Gradient.Values[i] / float32(h.env.Trainers)
		}
	case 2:
		copy(b.Gradient.Values, payloads[1][0].Gradient.Values)
	}
	return nil
}

func (h *scattering) Reset() {}

// scaling gathers the largest magnitude of each trainer. It then gathers one byte for each element, and a check.
type scaling struct{ env sdk.HookEnv }

// room is the size of a trainer's part of an all-gather of int8, in elements. It fills whole words.
func room(elements int) int { return (elements + 3) / 4 * 4 }

func planScaling(_ struct{}, env sdk.TrafficEnv) (sdk.Traffic, error) {
	var plan sdk.Traffic
	for _, b := range env.Buckets {
		plan = append(plan, []sdk.Round{
			{{Kind: sdk.AllGather, Type: tensor.Float32, Elements: env.Trainers}},
			{{Kind: sdk.AllGather, Type: tensor.Int8, Elements: env.Trainers * room(b.Elements)},
				{Kind: sdk.AllReduce, Type: tensor.Int32, Elements: 1}},
		})
	}
	return plan, nil
}

func newScaling(_ struct{}, env sdk.HookEnv) (sdk.Hook, error) { return &scaling{env}, nil }

func (h *scaling) Reduce(state sdk.HookState, b *tensor.Bucket) *comm.Future {
	return h.env.Rounds.Reduce(state, b, h)
}

func (h *scaling) Step(_ sdk.HookState, round int, b *tensor.Bucket, payloads [][]*tensor.Bucket) error {
	values, scales := b.Gradient.Values, payloads[0][0].Gradient.Values
	codes, count := tensor.As[int8](payloads[1][0].Gradient.Values), tensor.As[int32](payloads[1][1].Gradient.Values)
	scale := float32(0)
	for _, s := range scales {
		scale = max(scale, s/127)
	}
	switch round {
	case 0:
		scales[h.env.Rank] = 0
		for _, v := range values {
			scales[h.env.Rank] = max(scales[h.env.Rank], max(v, -v))
		}
	case 1:
		count[0] = 1
		for i, v := range values {
			code := math.Round(float64(v / max(scale, math.SmallestNonzeroFloat32)))
			codes[h.env.Rank*room(len(values))+i] = int8(code)
		}
	case 2:
		if int(count[0]) != h.env.Trainers {
			return fmt.Errorf("%d trainers have counted themselves, not %d", count[0], h.env.Trainers)
		}
		for i := range values {
			sum := int32(0)
			for t := range h.env.Trainers {
				sum += int32(codes[t*room(len(values))+i])
			}
			values[i] = float32(sum) * scale / float32(h.env.Trainers)
		}
	}
	return nil
}

func (h *scaling) Reset() {}

// pieces pushes each bucket to the server piece by piece, a piece in each round.
type pieces struct {
	pieced
	env sdk.HookEnv
}

type pieced struct {
	Pieces int `json:"pieces" doc:"number of pieces"`
}

// of returns the range of elements in a piece of a bucket.
func (s pieced) of(b *tensor.BucketSpec, piece int) (from, to int) {
	return piece * b.Elements / s.Pieces, (piece + 1) * b.Elements / s.Pieces
}

func planPieces(s pieced, env sdk.TrafficEnv) (sdk.Traffic, error) {
	plan := make(sdk.Traffic, len(env.Buckets))
	for i := range env.Buckets {
		for k := range s.Pieces {
			from, to := s.of(&env.Buckets[i], k)
			plan[i] = append(plan[i], sdk.Round{{Kind: sdk.PushPull, Type: tensor.Float32, Elements: to - from}})
		}
	}
	return plan, nil
}

func newPieces(s pieced, env sdk.HookEnv) (sdk.Hook, error) {
	const want = "the server takes the payloads that the hook has planned, not bucket 0"
	if err := env.Server.PushPull(0, &tensor.Bucket{}).Wait(); err == nil || err.Error() != want {
		return nil, fmt.Errorf("a push of a bucket gives %w", err)
	}
	return &pieces{s, env}, nil
}

func (h *pieces) Reduce(state sdk.HookState, b *tensor.Bucket) *comm.Future {
	return h.env.Rounds.Reduce(state, b, h)
}

func (h *pieces) Step(_ sdk.HookState, round int, b *tensor.Bucket, payloads [][]*tensor.Bucket) error {
	if round > 0 {
		from, to := h.of(&b.BucketSpec, round-1)
		copy(b.Gradient.Values[from:to], payloads[round-1][0].Gradient.Values)
	}
	if round < h.Pieces {
		from, to := h.of(&b.BucketSpec, round)
		copy(payloads[round][0].Gradient.Values, b.Gradient.Values[from:to])
	}
	return nil
}

func (h *pieces) Reset() {}

// misplan is a plan of one operation for bucket 0, which the settings spoil.
type misplan struct {
	Kind     string `json:"kind" doc:"kind of the operation"`
	Type     string `json:"type" doc:"element type"`
	Elements int    `json:"elements" doc:"size of the payload"`
	Root     int    `json:"root" doc:"where a broadcast starts"`
	Apart    bool   `json:"apart" doc:"each rank adds its number to the size"`
	Panics   bool   `json:"panics" doc:"the plan panics"`
	Refuses  bool   `json:"refuses" doc:"the plan returns an error"`
	Fails    bool   `json:"fails" doc:"the step after the round returns an error"`
	Drops    bool   `json:"drops" doc:"the hook drops the future of the rounds"`
	Strays   bool   `json:"strays" doc:"the hook reduces a bucket for which it has planned nothing"`
}

type misplanned struct {
	misplan
	env sdk.HookEnv
}

func planMisplanned(s misplan, env sdk.TrafficEnv) (sdk.Traffic, error) {
	switch {
	case s.Panics:
		panic("no plan")
	case s.Refuses:
		return nil, errors.New("there is no plan")
	case s.Apart:
		s.Elements += env.Rank
	}
	return sdk.Traffic{{{{Kind: sdk.OperationKind(s.Kind), Type: tensor.Type(s.Type), Elements: s.Elements,
		Root: s.Root}}}}, nil
}

func newMisplanned(s misplan, env sdk.HookEnv) (sdk.Hook, error) { return &misplanned{s, env}, nil }

func (h *misplanned) Reduce(state sdk.HookState, b *tensor.Bucket) *comm.Future {
	if b.Index > 0 && !h.Strays {
		return h.env.Group.Average(state.Batch(), b)
	}
	if f := h.env.Rounds.Reduce(state, b, h); !h.Drops {
		return f
	}
	return comm.Completed(nil)
}

func (h *misplanned) Step(_ sdk.HookState, round int, b *tensor.Bucket, _ [][]*tensor.Bucket) error {
	if round == 1 && h.Fails {
		return fmt.Errorf("bucket %d is not what it was", b.Index)
	}
	return nil
}

func (h *misplanned) Reset() {}

const plannedRun = "--quiet --warmup none --iterations 6 --set trainer.lr=64 --set trainer.bucket_bytes=20000" + small + " "

// plannedArgs returns the arguments of a run with a hook of the late plugin. Trainer ddp_here has the hook in its own
// process; trainer ddp has it in a companion.
func plannedArgs(t *testing.T, flags string) []string {
	t.Helper()
	registry, err := json.Marshal(lateRegistry(t))
	if err != nil {
		t.Fatal(err)
	}
	return append(strings.Fields(plannedRun+flags), "--registry", inFile(t, registry))
}

// A hook in two rounds gives the result of the operation that it replaces, on every transport, in its trainer's process
// and in a companion, through a group and through a server. With two trainers, even the bits are equal.
func TestPlannedHooks(t *testing.T) {
	losses := func(t *testing.T, flags string) [][]float64 { return runs(t, plannedArgs(t, flags)...).Losses }
	want := losses(t, "--nserver 0 --ddp-hook allreduce")
	wantSparse := losses(t, "--nserver 0 --ddp-hook allreduce --set model.sparse=true")
	const tolerance = 2e-6 // of a byte for each gradient
	near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= tolerance*math.Abs(b) })
	if cmp.Equal(want, losses(t, "--nserver 0 --ddp-hook noop"), near) {
		t.Fatal("the losses do not depend on the hook")
	}
	transports := []string{"shm", "tcp", "unix", "grpc"}
	if testing.Short() {
		transports = transports[:2]
	}
	for _, transport := range transports {
		for _, flags := range []string{
			"--trainer ddp_here --nserver 0 --ddp-hook scattering",
			"--trainer ddp_here --nserver 0 --ddp-hook scattering --set model.sparse=true",
			"--trainer ddp --nserver 0 --ddp-hook scattering --check",
			"--trainer ddp_here --ddp-hook pieces --check",
			"--trainer ddp --ddp-hook pieces --server average_batch",
			"--trainer ddp_here --nserver 0 --ddp-hook scaling",
			"--trainer ddp --nserver 0 --ddp-hook scaling",
		} {
			t.Run(transport+" "+flags, func(t *testing.T) {
				want := want
				if strings.Contains(flags, "sparse") {
					want = wantSparse
				}
				var close cmp.Options
				if strings.Contains(flags, "scaling") {
					close = cmp.Options{near}
				}
				if d := cmp.Diff(want, losses(t, flags+" --transport "+transport), close); d != "" {
					t.Error(d)
				}
			})
		}
	}
}

// Over several hosts the rounds give the losses of one host, except for the order of additions.
func TestPlannedHooksAcrossHosts(t *testing.T) {
	for flags, hosts := range map[string]run.Options{
		"--trainer ddp_here --ntrainer 4 --nserver 0 --ddp-hook scattering":                 acrossHosts(),
		"--trainer ddp --ntrainer 3 --nserver 0 --ddp-hook scaling":                         acrossHosts(),
		"--trainer ddp --ntrainer 4 --nserver 2 --ddp-hook pieces":                          acrossHosts(),
		"--trainer ddp_here --ntrainer 4 --ddp-hook pieces --set hook.pieces=1 --aggregate": serversApart(),
	} {
		t.Run(flags, func(t *testing.T) {
			flags, aggregate := strings.CutSuffix(flags, " --aggregate")
			one, err := run.Run(t.Context(), resolved(t, plannedArgs(t, flags)...), run.Options{Progress: run.Silent})
			if err != nil {
				t.Fatal(err)
			}
			if aggregate {
				flags += " --aggregate host"
			}
			two, err := run.Run(t.Context(), resolved(t, plannedArgs(t, flags)...), hosts)
			if err != nil {
				t.Fatal(err)
			}
			near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= 1e-7*math.Abs(b) })
			if d := cmp.Diff(one.Losses, two.Losses, near); d != "" || two.Transport != "shm+tcp" {
				t.Errorf("over %s: %s", two.Transport, d)
			}
		})
	}
}

// Each operation of a plan has a series, with one time for each bucket and iteration.
func TestRoundsAreMeasured(t *testing.T) {
	r := runs(t, plannedArgs(t, "--trainer ddp_here --nserver 0 --ddp-hook scaling")...)
	got := map[string]int{}
	for _, s := range r.Series {
		for range s.All() {
			if s.Type == "hook_future_metric" {
				got[s.Name]++
			}
		}
	}
	each := 6 * len(r.Losses) * len(r.Buckets)
	want := map[string]int{"round 0 allgather float32": each, "round 1 allgather int8": each,
		"round 1 allreduce int32": each}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// psbench comm verifies planned hooks, whose payloads are laid for every size.
func TestCommMeasuresPlannedHooks(t *testing.T) {
	registry, err := json.Marshal(lateRegistry(t))
	if err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"hook --ddp-hook pieces":                       "verified: fresh rows in every round\n",
		"hook --ddp-hook scattering --nserver 0":       "verified: fresh rows in every round\n",
		"hook allreduce --ddp-hook scaling":            "verified: fresh rows ",
		"hook pushpull --ddp-hook pieces":              "hook pieces pushes payloads of its own, so the server takes no buckets: measure pushpull and the hook in two calls\n",
		"hook --ddp-hook misplanned --set hook.root=7": "plan: bucket 0, round 0, allreduce of 1 float32: root 7 is no position: these are 0 to 1",
	} {
		t.Run(args, func(t *testing.T) {
			line := "comm " + args + " --quiet --no-limits --sizes 64,40K --rounds 10 --repeat 1 --transport shm,tcp --registry " +
				inFile(t, registry)
			if _, stdout, stderr := psbenchMain(t, strings.Fields(line)...); !strings.Contains(stdout+stderr, want) {
				t.Errorf("%s%s does not contain %q", stdout, stderr, want)
			}
		})
	}
}

// Trainers that push as one have one order of pushes, which several rounds do not have. A server of parameters needs
// whole buckets.
func TestServersThatTakeNoPayloads(t *testing.T) {
	aggregated := plannedArgs(t, "--trainer ddp_here --ntrainer 4 --ddp-hook pieces --aggregate host")
	registry := aggregated[len(aggregated)-2:]
	for want, args := range map[string][]string{
		"trainer0 pushes in 2 rounds, but trainers that push as one all push in one order, which rounds do not have: leave out --aggregate": aggregated,
		"trainer0.hook pushes payloads of its own, but server batch_update updates parameters with whole buckets: choose a hook that pushes these": append(
			strings.Fields("--trainer batch_update --server batch_update --ddp-hook pieces"), registry...),
	} {
		t.Run(want, func(t *testing.T) {
			if _, err := run.Run(t.Context(), resolved(t, args...), serversApart()); err == nil || err.Error() != want {
				t.Errorf("%v, want %s", err, want)
			}
		})
	}
}

// A wrong plan ends the run before its first pass, with one sentence. So does a wrong step, in the pass.
func TestWrongPlans(t *testing.T) {
	for _, c := range []struct{ set, want string }{
		{"elements=0", "trainer[01]: hook misplanned, plan: bucket 0, round 0, allreduce of 0 float32: a payload has 1 to 2147483647 elements"},
		{"kind=gossip", "trainer[01]: hook misplanned, plan: bucket 0, round 0, gossip of 1 float32: the kinds of operation are pushpull, allreduce, average, broadcast, reducescatter, allgather and alltoall"},
		{"kind=pushpull", "trainer[01]: hook misplanned, plan: bucket 0, round 0, pushpull of 1 float32: the hook declares no link server"},
		{"type=float8", "trainer[01]: hook misplanned, plan: bucket 0, round 0, allreduce of 1 float8: the element types are float32, float16, bfloat16, int32, int64, int8, uint8"},
		{"type=int8", "trainer[01]: hook misplanned, plan: bucket 0, round 0, allreduce of 1 int8: the operation is only defined for float32, float16, bfloat16, int32, int64"},
		{"kind=broadcast root=2", "trainer[01]: hook misplanned, plan: bucket 0, round 0, broadcast of 1 float32 from 2: root 2 is no position: these are 0 to 1"},
		{"refuses=true", "trainer[01]: hook misplanned, plan: there is no plan"},
		{"apart=true", "for bucket 0, round 0, operation 0, trainer0 plans allreduce of 1 float32 and trainer1 allreduce of 2 float32: a hook's plan must depend on the buckets and the settings alone"},
		{"fails=true", "trainer[01](, epoch 0, batch 0)?: hook misplanned, Reduce: Step 1 of batch 0, bucket 0: bucket 0 is not what it was"},
		{"drops=true", "trainer[01](, epoch 0, batch 1)?: hook misplanned, Reduce: nobody waited for the rounds of batch 0, bucket 0: Reduce must return their future, or one that waits for it"},
		{"strays=true", `trainer[01](, epoch 0, batch 0)?: hook misplanned, Reduce: the hook has planned no rounds for bucket \d+`},
		{"panics=true", `trainer[01] \(process \d+\) ended with exit status 2 during planning; its last words: panic: no plan.*`},
	} {
		for _, trainer := range []string{"ddp_here", "ddp"} {
			t.Run(c.set+" "+trainer, func(t *testing.T) {
				file, want := filepath.Join(t.TempDir(), "result.json"), c.want
				if trainer == "ddp" {
					want = regexp.MustCompile(`trainer(\[01\]|0|1)( |:|\()`).ReplaceAllString(want, "trainer$1.hook$2") +
						"(; trainer[01].hook is hook misplanned of plugin late|\n)"
				}
				args := plannedArgs(t, "--nserver 0 --ddp-hook misplanned --trainer "+trainer+" --json "+file)
				for _, set := range strings.Fields(c.set) {
					args = append(args, "--set", "hook."+set)
				}
				status, _, stderr := psbenchMain(t, args...)
				if status != 1 || !regexp.MustCompile("^psbench: "+want).MatchString(stderr) ||
					strings.Count(stderr, "\n") != 1 {
					t.Errorf("status %d, %s, want %s", status, stderr, want)
				}
				if r, err := result.Read(file); err == nil && r.Complete {
					t.Error("the result is complete")
				}
			})
		}
	}
}
