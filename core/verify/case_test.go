package verify

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/psbench/psbench/core/result"
)

func TestEmbeddedCases(t *testing.T) {
	cases, err := Embedded()
	if err != nil {
		t.Fatal(err)
	}
	hooks := map[string]bool{}
	for _, c := range cases {
		hooks[c.Hook] = true
	}
	for _, hook := range []string{"allreduce", "hybrid", "rpc", "sparse_rpc"} {
		if !hooks[hook] {
			t.Errorf("no case runs hook %s", hook)
		}
	}
	if len(cases) != 7 {
		t.Errorf("there are %d cases", len(cases))
	}
}

func TestBadCases(t *testing.T) {
	good, err := reference.ReadFile("reference/allreduce_dense_t2.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ from, to, want string }{
		{`"name": "allreduce_dense_t2", `, ``, "case.json has no name"},
		{`"kind": "ddp"`, `"kind": "hybrid"`, `case.json: kind is "hybrid" but`},
		{`"seed": 1`, `"seeed": 1`, `unknown key "seeed"; did you mean "seed"?`},
		{`"loss_rel": 2e-06`, `"loss_rel": 0`, "tolerance needs loss_rel"},
		{`"ntrainer": 2`, `"ntrainer": 3`, "losses of 2 and parameters of 2 trainers but ntrainer is 3"},
		{`"lr": 2.0`, `"lr": "high"`, "case.json, line 1, column"},
		{`"lr": 2.0`, `"lr": `, "case.json, line 1, column"},
	} {
		t.Run(c.want, func(t *testing.T) {
			text := strings.Replace(string(good), c.from, c.to, 1)
			if text == string(good) {
				t.Fatalf("the case does not hold %s", c.from)
			}
			file := filepath.Join(t.TempDir(), "case.json")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := Load(file); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// What is missing or is no number fails; it is never taken for agreement.
func TestCompareMissingValues(t *testing.T) {
	c := &Case{
		Tolerance: Tolerance{LossRel: 1, DeltaHeadAbs: 1, DeltaSumSqRel: 1},
		Expect: Expect{
			Loss:   [][]float64{{1, 2}},
			Params: [][]Parameter{{{DeltaSum: 1, DeltaSumSq: 1, DeltaHead: []float64{1}, Head: []float64{1}}}},
		},
	}
	run := func(change func(*result.Result)) []Failure {
		r := &result.Result{
			Losses: [][]float64{{1, 2}},
			Parameters: [][]result.ParameterSummary{{
				{Name: "w", Elements: 1, DeltaSum: 1, DeltaSumSq: 1, DeltaHead: []float64{1}, Head: []float64{1}},
			}},
		}
		change(r)
		return Compare(c, r).Failures
	}
	if f := run(func(*result.Result) {}); len(f) > 0 {
		t.Fatalf("equal values fail: %v", f)
	}
	for want, change := range map[string]func(*result.Result){
		"the run has losses of 0":  func(r *result.Result) { r.Losses = nil },
		"it ran 1 iterations":      func(r *result.Result) { r.Losses[0] = r.Losses[0][:1] },
		"the loss of iteration 1":  func(r *result.Result) { r.Losses[0][1] = math.NaN() },
		"it has 0 parameters":      func(r *result.Result) { r.Parameters[0] = nil },
		"delta_sumsq is NaN":       func(r *result.Result) { r.Parameters[0][0].DeltaSumSq = math.NaN() },
		"delta_sum is +Inf":        func(r *result.Result) { r.Parameters[0][0].DeltaSum = math.Inf(1) },
		"delta_head has 0 element": func(r *result.Result) { r.Parameters[0][0].DeltaHead = nil },
		"head[0] is NaN":           func(r *result.Result) { r.Parameters[0][0].Head[0] = math.NaN() },
	} {
		f := run(change)
		if len(f) != 1 || !strings.Contains(f[0].String(), want) || !strings.HasPrefix(f[0].String(), "trainer0") {
			t.Errorf("want %q, got %v", want, f)
		}
	}
}

func FuzzCase(f *testing.F) {
	good, err := reference.ReadFile("reference/ragged_last_batch_t1_s1.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"name": "x", "kind": "ddp", "expect": {"loss": [[]], "params": [[]]}}`))
	f.Fuzz(func(_ *testing.T, raw []byte) {
		c, err := parse("case.json", raw)
		if err != nil {
			return
		}
		c.Layer()
		Compare(c, &result.Result{})
	})
}
