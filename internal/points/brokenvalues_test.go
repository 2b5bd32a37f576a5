//go:build !race

package points

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/comm/vec"
	"github.com/psbench/psbench/internal/points/harness"
	"github.com/psbench/psbench/sdk"
)

// spoilings are wrong results of parts that should answer with the mean.
var spoilings = map[string]func(g *tensor.Gradient, trainers int){
	"nothing": func(*tensor.Gradient, int) {},
	"another last element": func(g *tensor.Gradient, _ int) {
		if n := len(g.Values); n > 0 {
			g.Values[n-1] *= 1.01
		}
	},
	"another first element": func(g *tensor.Gradient, _ int) {
		if len(g.Values) > 0 {
			g.Values[0]++
		}
	},
	"another element of a million": func(g *tensor.Gradient, _ int) {
		if len(g.Values) > 1_000_000 {
			g.Values[777_777] = 0
		}
	},
	"a mean over one trainer more": func(g *tensor.Gradient, trainers int) {
		vec.Scale(float32(trainers)/float32(trainers+1), g.Values)
	},
	"a mean over two trainers": func(g *tensor.Gradient, trainers int) { vec.Scale(float32(trainers)/2, g.Values) },
	"no denormals but NaN": func(g *tensor.Gradient, _ int) {
		replace(g, func(x float64) bool { return x > 0 && x < 0x1p-126 }, float32(math.NaN()))
	},
	"NaN for zeros": func(g *tensor.Gradient, _ int) {
		replace(g, func(x float64) bool { return x == 0 }, float32(math.NaN()))
	},
	"large numbers that are cut": func(g *tensor.Gradient, _ int) {
		replace(g, func(x float64) bool { return x > 0x1p40 }, 0x1p40)
	},
	"the last row dropped": func(g *tensor.Gradient, _ int) {
		if n := len(g.Rows); n > 0 {
			_ = g.SetRows(n - 1)
		}
	},
	"a row dropped of many": func(g *tensor.Gradient, _ int) {
		if n := len(g.Rows); n > 1000 {
			copy(g.Rows[500:], g.Rows[501:])
			copy(g.Values[500*g.Width:], g.Values[501*g.Width:])
			_ = g.SetRows(n - 1)
		}
	},
}

func replace(g *tensor.Gradient, which func(magnitude float64) bool, by float32) {
	for i, x := range g.Values {
		if which(math.Abs(float64(x))) {
			g.Values[i] = by
		}
	}
}

// spoilingHook averages over the group and spoils the result.
type spoilingHook struct {
	of     comm.Group
	spoils func(*tensor.Gradient, int)
}

func (h *spoilingHook) Reduce(state sdk.HookState, b *tensor.Bucket) *comm.Future {
	if err := h.of.Average(state.Batch(), b).Wait(); err != nil {
		return comm.Completed(err)
	}
	h.spoils(&b.Gradient, h.of.Size())
	return comm.Completed(nil)
}

func (h *spoilingHook) Reset() {}

// spoilingServer answers all trainers with a spoiled mean of the pushed rows.
type spoilingServer struct {
	collecting
	env    sdk.ServerEnv
	spoils func(*tensor.Gradient, int)
}

func (s *spoilingServer) Receive(p sdk.Push) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := [2]int64{p.Batch, int64(p.Bucket)}
	s.pending[key] = append(s.pending[key], p)
	pushes := s.pending[key]
	if len(pushes) < s.env.Trainers {
		return nil
	}
	delete(s.pending, key)
	x := &sdk.Exchange{Bucket: s.env.Buckets[p.Bucket]}
	for _, push := range pushes {
		x.Gradients = append(x.Gradients, push.Gradient)
	}
	answer := tensor.NewGradient(x.Bucket)
	if err := x.Average(&answer); err != nil {
		return err
	}
	s.spoils(&answer, s.env.Trainers)
	for _, push := range pushes {
		if err := push.Answer(&answer); err != nil {
			return err
		}
	}
	return nil
}

// spoilingBlocks averages element by element and spoils the result.
type spoilingBlocks struct {
	trainers int
	spoils   func(*tensor.Gradient, int)
}

func (s *spoilingBlocks) Combine(sum []float32, others [][]float32) { (&adding{}).Combine(sum, others) }

func (s *spoilingBlocks) Finish(sum []float32) {
	vec.Scale(1/float32(s.trainers), sum)
	s.spoils(&tensor.Gradient{Values: sum}, s.trainers)
}

// The check compares every element with the declared or expected answer.
func TestPartsThatSpoilTheMean(t *testing.T) {
	elementwise := []string{ // faults that an elementwise server can cause
		"nothing", "another last element", "another first element", "a mean over one trainer more",
		"a mean over two trainers", "no denormals but NaN", "NaN for zeros",
		"large numbers that are cut",
	}
	for fault, spoils := range spoilings {
		parts := map[string]sdk.Part{
			"hook": sdk.NewHook("tested", struct{}{}, func(_ struct{}, env sdk.HookEnv) (sdk.Hook, error) {
				return &spoilingHook{env.Group, spoils}, nil
			}, sdk.LinkGroup),
			"server": sdk.NewServer("tested", struct{}{}, func(_ struct{}, env sdk.ServerEnv) (sdk.Server, error) {
				return &spoilingServer{collecting{pending: map[[2]int64][]sdk.Push{}}, env, spoils}, nil
			}),
		}
		if slices.Contains(elementwise, fault) {
			parts["elementwise server"] = sdk.NewElementwiseServer("tested", sdk.OnLastArrival, struct{}{},
				func(_ struct{}, env sdk.ServerEnv) (sdk.ElementwiseServer, error) {
					return &spoilingBlocks{env.Trainers, spoils}, nil
				})
		}
		for name, part := range parts {
			t.Run(name+" with "+fault, func(t *testing.T) {
				declared := sdk.Answering(sdk.AnswersMean, part)
				caught(t, &harness.Subject{Part: declared}, fault != "nothing")
				if name == "server" { // all trainers get the same wrong result
					caught(t, &harness.Subject{Part: part, Expect: sdk.AnswersMean}, fault != "nothing")
				}
			})
		}
	}
}

// caught carries out all points about values. caught requires a violation, or none.
func caught(t *testing.T, s *harness.Subject, want bool) {
	t.Helper()
	for _, p := range Of(s) {
		if !slices.Contains([]string{"answers", "blocks", "memory", "values"}, p.Name) {
			continue
		}
		var unseen harness.NotSeen
		switch err := p.Check(s); {
		case errors.As(err, &unseen):
			t.Errorf("%s is not seen: %v", p.Name, err)
			return
		case err != nil && want:
			t.Log(err)
			return
		case err != nil:
			t.Errorf("%s: %v", p.Name, err)
			return
		}
	}
	if want {
		t.Error("nothing finds it")
	}
}

// The check reports a part that declares no answer, and fails a part with a wrong declaration.
func TestPartsThatDeclareNothing(t *testing.T) {
	part := sdk.NewHook("tested", struct{}{}, func(_ struct{}, env sdk.HookEnv) (sdk.Hook, error) {
		return &spoilingHook{env.Group, spoilings["nothing"]}, nil
	}, sdk.LinkGroup)
	for name, c := range map[string]struct {
		expect sdk.Answers
		want   string
	}{
		"nothing":   {"", "no value was compared"},
		"the sum":   {sdk.AnswersSum, "that is the sum of"},
		"as noop":   {sdk.AnswersAs("noop"), "that is the answer, as noop, of"},
		"its own":   {sdk.AnswersOwn, "has no method Answer"},
		"as hybrid": {sdk.AnswersAs("hybrid"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := values.Check(&harness.Subject{Part: part, Expect: c.expect})
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// forgettingHook starts an operation and never waits for the result.
type forgettingHook struct{ of comm.Group }

func (h *forgettingHook) Reduce(state sdk.HookState, b *tensor.Bucket) *comm.Future {
	h.of.Average(state.Batch(), b)
	return comm.Completed(nil)
}

func (h *forgettingHook) Reset() {}

// The check names a forgotten operation, even if the declaration makes it compare values first.
func TestHooksThatForget(t *testing.T) {
	part := sdk.NewHook("tested", struct{}{}, func(_ struct{}, env sdk.HookEnv) (sdk.Hook, error) {
		return &forgettingHook{env.Group}, nil
	}, sdk.LinkGroup)
	for name, part := range map[string]sdk.Part{"that declares nothing": part,
		"that declares the mean": sdk.Answering(sdk.AnswersMean, part)} {
		t.Run(name, func(t *testing.T) {
			s := &harness.Subject{Part: part}
			for _, p := range Of(s) {
				if p.Name != "answers" {
					continue
				}
				if err := p.Check(s); err == nil || !strings.Contains(err.Error(), "nobody waited for it") {
					t.Errorf("%v", err)
				}
			}
		})
	}
}
