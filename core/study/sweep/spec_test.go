package sweep

import (
	"math/big"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRange(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"1..4", "1 2 3 4"},
		{"1..8*2", "1 2 4 8"},
		{"1..9*2", "1 2 4 8"},
		{"0..10+5", "0 5 10"},
		{"0.001..1*10", "0.001 0.01 0.1 1"},
		{"0.1..0.5+0.1", "0.1 0.2 0.3 0.4 0.5"},
		{"3..3", "3"},
		{"1..1000000000000+999999999999", "1 1000000000000"},
		{"average", ""},
		{"a..b", ""},
		{"../psbench", ""},
		{"8..1", `range "8..1" is empty: 8 is above 1`},
		{"1..8*1", `range "1..8*1" has no end: a factor must be above 1, and the first value above 0`},
		{"0..8*2", `range "0..8*2" has no end: a factor must be above 1, and the first value above 0`},
		{"1..8+0", `range "1..8+0" has no end: a step must be above 0`},
		{"1..8-1", `range "1..8-1" must be FIRST..LAST, FIRST..LAST+STEP or FIRST..LAST*FACTOR, as in 1..8*2`},
		{"1e-5..1e-2*10", "0.00001 0.0001 0.001 0.01"},
		{"1E-1..+.3+.1", "0.1 0.2 0.3"},
		{"-1..1.0", "-1 0 1"},
		{"-2e0..-1e0+5e-1", "-2 -1.5 -1"},
		{".5...7+1e-1", "0.5 0.6 0.7"},
		{"0..2e+3+1e+3", "0 1000 2000"},
		{"8.0..64.0*2", "8 16 32 64"},
		{"-8..8*2", `range "-8..8*2" has no end: a factor must be above 1, and the first value above 0`},
		{"1..8+-1", `range "1..8+-1" has no end: a step must be above 0`},
		{"1..1e309*10", `range "1..1e309*10" has numbers that are too large`},
		{"1e-30..1*10", `range "1e-30..1*10" has values of more than 20 decimals`},
		{"1e..5", ""},
		{"1e-5...1e-2*10",
			`range "1e-5...1e-2*10" could end at 1e-2 or at 0.1e-2: write two points, and a 0 before a third`},
		{"0...5+.1", `range "0...5+.1" could end at 5 or at 0.5: write two points, and a 0 before a third`},
		{"1...5x", `range "1...5x" must be FIRST..LAST, FIRST..LAST+STEP or FIRST..LAST*FACTOR, as in 1..8*2`},
		{"1_000..2_000",
			`range "1_000..2_000" must be FIRST..LAST, FIRST..LAST+STEP or FIRST..LAST*FACTOR, as in 1..8*2`},
		{"1..10000000", `range "1..10000000" has more than 20000 values`},
		{"1..9*1.0000000001", `range "1..9*1.0000000001" has values of more than 20 decimals`},
	} {
		numbers, isRange, err := parseRange(test.text)
		got := strings.Join(numbers, " ")
		if err != nil {
			got = err.Error()
		}
		if got != test.want || isRange != (test.want != "") {
			t.Errorf("%s\n got %s, %v\nwant %s", test.text, got, isRange, test.want)
		}
	}
}

func FuzzRange(f *testing.F) {
	for _, seed := range []string{"1..8*2", "0.1..0.3+0.1", "8..1", "1..2..3", "1..999999+1000", "1e-5..1e-2*10",
		"-1..+1+.5", "1..1e300*1.1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		numbers, isRange, err := parseRange(text)
		if err != nil || !isRange {
			if numbers != nil {
				t.Errorf("%q is no range of %v", text, numbers)
			}
			return
		}
		before := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(-10), big.NewInt(401), nil))
		for _, n := range numbers {
			now, ok := new(big.Rat).SetString(n)
			if !ok || now.Cmp(before) <= 0 {
				t.Fatalf("%q has %s after %s", text, n, before)
			}
			before = now
		}
	})
}

// named is a specification with every key.
const named = `{
	"name": "study", "question": "Which?", "base": {"iterations": 5, "set": {"trainer": {"lr": 0.1}}},
	"axes": [
		{"server": ["average", "average_batch"]},
		{"ntrainer": ["1..4*2", 6]},
		{"size": [{"name": "small", "batch_size": 1}, {"batch_size": 2, "model.sparse": true}]}
	],
	"include": [{"ntrainer": "1..2"}], "exclude": [{"server": "average", "ntrainer": [1, 4]}],
	"repeats": 3, "seed": 5, "baseline": {"size": "small"}, "again": false, "check": false,
	"budget": {"time": "1h30m", "failures": 2}, "run_timeout": "2m", "metric": "time_per_batch"
}`

func TestParseSpec(t *testing.T) {
	s, err := ParseSpec("f", []byte(named))
	if err != nil {
		t.Fatal(err)
	}
	axes, err := s.allAxes()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, a := range axes {
		got = append(got, a.name+": "+strings.Join(a.labels(), " ")+" sets "+strings.Join(a.keys(), " "))
	}
	want := []string{
		"server: average average_batch sets server",
		"ntrainer: 1 2 4 6 sets ntrainer",
		"size: small batch_size=2,model.sparse=true sets batch_size model.sparse",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var p Plan
	if err := s.limit(&p); err != nil || p.Budget.Time.Minutes() != 90 || p.Budget.Failures != 2 ||
		p.RunTimeout.Seconds() != 120 {
		t.Errorf("the limits are %+v, %v, %v", p.Budget, p.RunTimeout, err)
	}
	include, err := s.rulesOf("include", axes, s.Include)
	if err != nil {
		t.Fatal(err)
	}
	exclude, err := s.rulesOf("exclude", axes, s.Exclude)
	if err != nil {
		t.Fatal(err)
	}
	for cell, want := range map[string]string{
		"average 1 small": "excluded: ntrainer=1,4 server=average", "average 2 small": "", "average_batch 1 small": "",
		"average_batch 4 small": "excluded: no rule of include fits",
		"average 4 small":       "excluded: ntrainer=1,4 server=average",
	} {
		if got := unwanted(strings.Fields(cell), include, exclude); got != want {
			t.Errorf("%s is %q, want %q", cell, got, want)
		}
	}
}

func TestSpecIsWrittenWithTheAxesOfFlags(t *testing.T) {
	s, err := ParseSpec("f", []byte(named))
	if err != nil {
		t.Fatal(err)
	}
	for _, axis := range []string{"server=sum", "trainer.lr=0.1,0.2", "data=DummyData,7"} {
		if err := s.AddAxis(axis); err != nil {
			t.Fatal(err)
		}
	}
	text, err := s.Text()
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParseSpec("f", text)
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	twice, err := again.Text()
	if diff := cmp.Diff(string(text), string(twice)); diff != "" || err != nil {
		t.Error(err, diff)
	}
	axes, err := again.allAxes()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, a := range axes {
		names = append(names, a.name+"="+strings.Join(a.labels(), ","))
	}
	want := []string{"server=sum", "ntrainer=1,2,4,6", "size=small,batch_size=2,model.sparse=true",
		"trainer.lr=0.1,0.2", "data=DummyData,7"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
}

func TestSpecErrors(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{``, "f is empty but must hold an object: {...}"},
		{`{"axis": []}`, `f, line 1, column 2: unknown key "axis"; did you mean "axes"?`},
		{`{"axes": {}}`, `f, line 1, column 10: the value must be a list, not object`},
		{`{"axes": [{"server": ["a"], "data": ["b"]}]}`,
			`f: axis 1 has 2 keys but must have one, its name, as in {"server": ["average", "sum"]}`},
		{`{"axes": [{}]}`, `f: axis 1 has 0 keys but must have one, its name, as in {"server": ["average", "sum"]}`},
		{`{"axes": [{"server": []}]}`, "axis server in f has no values, so the product of the axes is empty"},
		{`{"axes": [{"sever": ["a"]}]}`, `axis sever in f: unknown axis "sever"; did you mean "server"?`},
		{`{"axes": [{"trainr.lr": [1]}]}`,
			`axis trainr.lr in f is no setting KIND.SETTING of a part: unknown kind "trainr"; did you mean "trainer"?`},
		{`{"axes": [{"log_dir": ["a"]}]}`, "axis log_dir in f: --log-dir is no value that cells can differ in"},
		{`{"axes": [{"number-trainers": [1]}]}`,
			"axis number-trainers in f: --number-trainers is another name for ntrainer: name that"},
		{`{"name": "a\u001b[31m", "axes": [{"server": ["a"]}]}`,
			`f: name is "a\x1b[31m", which cannot be printed: give one without control characters`},
		{`{"axes": [{"size": [{"name": "a\nb", "batch_size": 10}]}]}`,
			`axis size in f has the value "a\nb", which cannot be printed: give it a name without control characters`},
		{`{"axes": [{"server": ["a", "a"]}]}`, `axis server in f has the value "a" twice`},
		{`{"axes": [{"server": [null]}]}`, "axis server in f has the value null"},
		{`{"axes": [{"server": ["a"]}, {"server": ["b"]}]}`, "f: axis server is there twice"},
		{`{"axes": [{"batch_size": [1]}, {"size": [{"batch-size": 1}]}]}`,
			"axis size in f sets batch_size, which axis batch_size in f sets too"},
		{`{"axes": [{"size": [{"name": "x"}]}]}`,
			`axis size in f: group "x" sets no value: set what the other groups set to its usual value, as in {"name": "x", "batch_size": VALUE}`},
		{`{"axes": [{"rate": [{"name": "none"}, {"name": "high", "trainer.lr": 1}]}]}`,
			`axis rate in f: group "none" sets no value: set what the other groups set to its usual value, as in {"name": "none", "trainer.lr": VALUE}`},
		{`{"axes": [{"rate": [{"trainer.lr": 1}, {}]}]}`,
			`axis rate in f: a group sets no value: set what the other groups set to its usual value, as in {"trainer.lr": VALUE}`},
		{`{"axes": [{"size": [{"name": 3, "data": "x"}]}]}`,
			"axis size in f has a group with the name 3, which must be a text"},
		{`{"axes": [{"size": [{"dat": "x"}]}]}`, `axis size in f: unknown axis "dat"; did you mean "data"?`},
		{`{"axes": [], "budget": {"time": "soon"}}`,
			`f: budget.time is "soon" but must be a time above 0, as in 90s or 8h30m`},
		{`{"axes": [], "budget": {"time": "-1s"}}`,
			`f: budget.time is "-1s" but must be a time above 0, as in 90s or 8h30m`},
		{`{"axes": [], "budget": {"failures": -1}}`, "f: budget.failures is -1 but must be 0 or more"},
		{`{"axes": [], "budget": {"hours": 1}}`,
			`f, line 1, column 25: unknown key "hours" of budget; the keys are failures, time`},
	} {
		_, err := ParseSpec("f", []byte(test.text))
		if err == nil || err.Error() != test.want {
			t.Errorf("%s\n got %v\nwant %s", test.text, err, test.want)
		}
	}
}

func TestRuleErrors(t *testing.T) {
	s, err := ParseSpec("f", []byte(named))
	if err != nil {
		t.Fatal(err)
	}
	axes, err := s.allAxes()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		rule map[string]any
		want string
	}{
		{map[string]any{}, "f: rule 1 of exclude names no axis"},
		{map[string]any{"sever": "average"},
			`f: rule 1 of exclude names "sever", which is no axis; did you mean "server"?`},
		{map[string]any{"server": "averge"},
			`f: rule 1 of exclude: axis server has no value "averge"; did you mean "average"?`},
		{map[string]any{"ntrainer": "3..5"},
			`f: rule 1 of exclude: axis ntrainer has no value "3"; there are 1, 2, 4, 6`},
	} {
		if _, err := s.rulesOf("exclude", axes, []map[string]any{test.rule}); err == nil || err.Error() != test.want {
			t.Errorf("%v\n got %v\nwant %s", test.rule, err, test.want)
		}
	}
}

func FuzzParseSpec(f *testing.F) {
	f.Add([]byte(named))
	f.Add([]byte(`{"axes": [{"ntrainer": "1..8*2"}, {"a": [{"data": [1, {}]}]}]}`))
	f.Add([]byte(`{"axes": [{"build": ["a", "b"]}], "seed": 18446744073709551615}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ParseSpec("f", data)
		if err != nil {
			return
		}
		text, err := s.Text()
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseSpec("f", text)
		if err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		if twice, err := again.Text(); err != nil || string(twice) != string(text) {
			t.Errorf("%s\nis written as\n%s, %v", text, twice, err)
		}
	})
}
