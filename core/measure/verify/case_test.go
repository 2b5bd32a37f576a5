package verify

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/splitmix"
)

func TestEmbeddedCases(t *testing.T) {
	cases, err := Embedded()
	if err != nil {
		t.Fatal(err)
	}
	hooks, kinds := map[string]bool{}, map[string]int{}
	for _, c := range cases {
		kinds[c.Head().Kind]++
		if ddp, ok := c.(*DDP); ok {
			hooks[ddp.Hook] = true
		}
	}
	for _, hook := range []string{"allreduce", "hybrid", "rpc", "sparse_rpc"} {
		t.Run(hook, func(t *testing.T) {
			if !hooks[hook] {
				t.Errorf("no case runs hook %s", hook)
			}
		})
	}
	if diff := cmp.Diff(map[string]int{"ddp": 9, "hybrid": 2, "batch_update": 2}, kinds); diff != "" {
		t.Error(diff)
	}
}

func TestBadCases(t *testing.T) {
	const ddp, hybrid, update = "allreduce_dense_t2", "hybrid_t1_s2", "batch_update_t3"
	for _, c := range []struct{ base, from, to, want string }{
		{ddp, `"name": "allreduce_dense_t2", `, ``, "case.json has no name"},
		{ddp, `"kind": "ddp", `, ``, "case.json has no kind: give batch_update, ddp, hybrid, recorded"},
		{ddp, `"kind": "ddp"`, `"kind": "dpp"`,
			`case.json: kind is "dpp" but psbench verifies cases of kind batch_update, ddp, hybrid, recorded`},
		{ddp, `"kind": "ddp"`, `"kind": 1`, `case.json has no kind`},
		{ddp, `"kind": "ddp"`, `"kind": "hybrid"`, `unknown key "ddp_hook"`},
		{ddp, `"seed": 1`, `"seeed": 1`, `unknown key "seeed"; did you mean "seed"?`},
		{ddp, `"loss_rel": 2e-06`, `"loss_rel": 0`, "tolerance needs loss_rel"},
		{ddp, `"ntrainer": 2`, `"ntrainer": 3`, "case.json: expect has parameters of 2 trainers but ntrainer is 3"},
		{ddp, `"loss": [`, `"loss": [[1], `, "case.json: expect has losses of 3 trainers but ntrainer is 2"},
		{ddp, `"params": [`, `"params": [[], `, "case.json: expect has parameters of 3 trainers but ntrainer is 2"},
		{ddp, `"lr": 2.0`, `"lr": "high"`, "case.json, line 1, column"},
		{ddp, `"lr": 2.0`, `"lr": `, "case.json, line 1, column"},
		{hybrid, `"ntrainer": 1`, `"ntrainer": 2`,
			"case.json: ntrainer is 2 but a hybrid case has 1: several trainers race"},
		{hybrid, `"nserver": 2`, `"nserver": 0`,
			"case.json: expect has 12 parameters but nserver is 0: there must be one"},
		{hybrid, `"nserver": 2`, `"nserver": 12`,
			"case.json: expect has 12 parameters but nserver is 12: there must be one"},
		{hybrid, `"offsets": [0, 1, 8, 12`, `"offsets": [1, 1, 8, 12`,
			"case.json: batch 1 has 1 as offset 0, but offsets start at 0, do not fall and stay within the 34 indices"},
		{hybrid, `"offsets": [0, 1, 8, 12`, `"offsets": [0, 8, 1, 12`,
			"case.json: batch 1 has 1 as offset 2, but offsets"},
		{hybrid, `"offsets": [0, 1, 8, 12`, `"offsets": [0, 35, 36, 37`,
			"case.json: batch 1 has 35 as offset 1, but offsets"},
		{hybrid, `"batches": [`, `"batches": [{"indices": [], "offsets": [], "targets": []}, `,
			"case.json: batch 0 has no bags"},
		{update, `"nserver": 1`, `"nserver": 3`,
			"case.json: nserver is 3 and expect lists 2 parameters, but there must be 1 server, and expect must list its parameters"},
		{update, `"ntrainer": 3`, `"ntrainer": 2`, "case.json: expect has losses of 3 trainers but ntrainer is 2"},
		{update, `"num_batches": 8`, `"num_batches": 4`,
			"case.json: expect has 8 losses of trainer0 but num_batches is 4"},
		{update, `"shape": [100, 30]`, `"shape": [100]`,
			"case.json: shape has length 1 but must have 2 numbers: inputs and outputs"},
		{update, `"shape": [100, 30]`, `"shape": [0, 30]`, "case.json: shape[0] is 0 but must be from 1 to 16777216"},
		{update, `"batch_size": 20`, `"batch_size": 1000000`,
			"case.json: 24 batches of 100000000 numbers are more than 16777216 numbers"},
	} {
		t.Run(c.want, func(t *testing.T) {
			good, err := reference.ReadFile("reference/" + c.base + ".json")
			if err != nil {
				t.Fatal(err)
			}
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

// embedded returns a built-in case by name.
func embedded[C Case](t *testing.T, name string) C {
	t.Helper()
	cases, err := Embedded()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(cases, func(c Case) bool { return c.Head().Name == name })
	if i < 0 {
		t.Fatalf("there is no case %s", name)
	}
	return cases[i].(C)
}

// settingsOf returns the settings of a part in the case's layer, as JSON.
func settingsOf(t *testing.T, c Case, kind string) map[string]json.RawMessage {
	t.Helper()
	data, err := json.Marshal(c.Layer().Values["set"])
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	return all[kind]
}

// The offsets in the file define bags, one batch after the other.
func TestHybridLayer(t *testing.T) {
	c := embedded[*Hybrid](t, "hybrid_t1_s2")
	c.Batches = []HybridBatch{
		{Indices: []int64{5, 6, 7}, Offsets: []int{0, 2}, Targets: []int64{1, 2}},
		{Indices: []int64{8}, Offsets: []int{0, 0, 1}, Targets: []int64{3, 4, 5}},
	}
	data := settingsOf(t, c, "data")
	for name, want := range map[string]string{
		"inputs": "[[5,6],[7],[],[8],[]]", "targets": "[1,2,3,4,5]", "batches": "[2,3]",
	} {
		t.Run(name, func(t *testing.T) {
			if got := string(data[name]); got != want {
				t.Errorf("%s are %s, want %s", name, got, want)
			}
		})
	}
	if got := string(settingsOf(t, c, "server")["embedding_dim"]); got != "256" {
		t.Errorf("embedding_dim is %s", got)
	}
}

// Batch step*T + t is batch number step of trainer t. Its numbers reach the data exactly.
func TestBatchUpdateLayer(t *testing.T) {
	c := embedded[*BatchUpdate](t, "batch_update_t3")
	c.BatchSize, c.Shape = 2, []int{3, 1}
	var rows [][]float32
	if err := json.Unmarshal(settingsOf(t, c, "data")["features"], &rows); err != nil {
		t.Fatal(err)
	}
	if len(rows) != 3*8*2 {
		t.Fatalf("there are %d samples", len(rows))
	}
	for trainer := range 3 {
		for step := range 8 {
			want := make([]float32, 6)
			splitmix.Uniform(11, uint64(1000+trainer*8+step), want, 1)
			first := (step*3 + trainer) * 2
			if got := slices.Concat(rows[first : first+2]...); !slices.Equal(got, want) {
				t.Errorf("batch %d of trainer%d is %v, want %v", step, trainer, got, want)
			}
		}
	}
}

// Every list in the file is the expected result of exactly one rank.
func TestExpected(t *testing.T) {
	hybrid := embedded[*Hybrid](t, "hybrid_t1_s4_wide")
	update := embedded[*BatchUpdate](t, "batch_update_t3")
	for name, c := range map[string]struct {
		Case
		want map[string][2]int // losses and parameters
	}{
		"hybrid": {hybrid, map[string][2]int{
			"trainer0": {6, 10}, "server1": {0, 1}, "server2": {0, 1}, "server3": {0, 1}, "server4": {0, 1},
		}},
		"batch_update": {update, map[string][2]int{
			"trainer0": {8, 0}, "trainer1": {8, 0}, "trainer2": {8, 0}, "server3": {0, 2},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			got := map[string][2]int{}
			for _, e := range c.Expected() {
				got[c.Head().rankName(e.Rank)] = [2]int{len(e.Losses), len(e.Params)}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		})
	}
	if e := hybrid.Expected(); &e[2].Params[0] != &hybrid.Expect.Params[1] ||
		&e[0].Params[0] != &hybrid.Expect.Params[4] {
		t.Error("the parameters of the hybrid case are not those of its servers, then of its trainer")
	}
}

// A value that is missing or not a number is a failure. It never counts as agreement.
func TestCompareMissingValues(t *testing.T) {
	c := &DDP{
		Header: Header{NTrainer: 1, Tolerance: Tolerance{LossRel: 1, DeltaHeadAbs: 1, DeltaSumSqRel: 1}},
		Expect: DDPExpect{
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
		"it ran 0 iterations":      func(r *result.Result) { r.Losses = nil },
		"it ran 1 iterations":      func(r *result.Result) { r.Losses[0] = r.Losses[0][:1] },
		"the loss of iteration 1":  func(r *result.Result) { r.Losses[0][1] = math.NaN() },
		"it has 0 parameters":      func(r *result.Result) { r.Parameters[0] = nil },
		"delta_sumsq is NaN":       func(r *result.Result) { r.Parameters[0][0].DeltaSumSq = math.NaN() },
		"delta_sum is +Inf":        func(r *result.Result) { r.Parameters[0][0].DeltaSum = math.Inf(1) },
		"delta_head has 0 element": func(r *result.Result) { r.Parameters[0][0].DeltaHead = nil },
		"head[0] is NaN":           func(r *result.Result) { r.Parameters[0][0].Head[0] = math.NaN() },
	} {
		t.Run(want, func(t *testing.T) {
			f := run(change)
			if len(f) != 1 || !strings.Contains(f[0].String(), want) || !strings.HasPrefix(f[0].String(), "trainer0") {
				t.Errorf("want %q, got %v", want, f)
			}
		})
	}
}

// If a run has no results, the comparison fails for every rank.
func TestCompareWithNothing(t *testing.T) {
	cases, err := Embedded()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		failed := map[string]bool{}
		for _, f := range Compare(c, &result.Result{}).Failures {
			failed[f.Process] = true
		}
		for _, e := range c.Expected() {
			if name := c.Head().rankName(e.Rank); !failed[name] {
				t.Errorf("%s: nothing is missed of %s", c.Head().Name, name)
			}
		}
	}
}

func FuzzCase(f *testing.F) {
	for _, name := range []string{"ragged_last_batch_t1_s1", "hybrid_t1_s2", "batch_update_t1"} {
		good, err := reference.ReadFile("reference/" + name + ".json")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(good)
	}
	f.Add([]byte(`{"name": "x", "kind": "batch_update", "ntrainer": 1, "shape": [1, 1]}`))
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
