package model

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/core/study/sweep/journal"
)

func Config(pairs ...string) map[string]string {
	c := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		c[pairs[i]] = pairs[i+1]
	}
	return c
}

func TestCells(t *testing.T) {
	for name, test := range map[string]struct {
		configs []map[string]string
		axes    []Axis
		cells   []string // name and number of runs
	}{
		"one": {
			[]map[string]string{Config("server", "a"), Config("server", "a")},
			nil, []string{"all runs 2"},
		},
		"two servers": {
			[]map[string]string{Config("server", "a"), Config("server", "b"), Config("server", "a")},
			[]Axis{{"server", []string{"a", "b"}}}, []string{"server=a 2", "server=b 1"},
		},
		"a value that follows is no axis": {
			[]map[string]string{Config("server", "a", "ddp_hook", "rpc"),
				Config("server", "b", "ddp_hook", "allreduce")},
			[]Axis{{"server", []string{"a", "b"}}}, []string{"server=a 1", "server=b 1"},
		},
		"a value of its own is one, whoever chose it": {
			[]map[string]string{Config("server", "a", "ddp_hook", "rpc"),
				Config("server", "a", "ddp_hook", "allreduce")},
			[]Axis{{"ddp_hook", []string{"rpc", "allreduce"}}}, []string{"ddp_hook=rpc 1", "ddp_hook=allreduce 1"},
		},
		"values that change together are one axis": {
			[]map[string]string{Config("server", "a", "ntrainer", "1"), Config("server", "b", "ntrainer", "2"),
				Config("server", "b", "ntrainer", "2")},
			[]Axis{{"server+ntrainer", []string{"a,1", "b,2"}}},
			[]string{"server+ntrainer=a,1 1", "server+ntrainer=b,2 2"},
		},
		"a setting that some have not": {
			[]map[string]string{Config("server", "a"), Config("server", "a", "data.max_val", "2")},
			[]Axis{{"data.max_val", []string{"-", "2"}}}, []string{"data.max_val=- 1", "data.max_val=2 1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var runs []recorded
			for seed, c := range test.configs {
				runs = append(runs, record(fmt.Sprintf("result %d", seed), Measured(seed, c, []int64{1})))
			}
			s := group(name, runs)
			if d := cmp.Diff(test.axes, s.Axes); d != "" {
				t.Error(d)
			}
			var cells []string
			for _, c := range s.Cells {
				cells = append(cells, fmt.Sprintf("%s %d", c.Name, len(c.Runs)))
			}
			if d := cmp.Diff(test.cells, cells); d != "" {
				t.Error(d)
			}
		})
	}
}

// Load counts failed runs separately. It warns of files that it cannot read and shows the others.
func TestLoad(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	good, failed := Measured(1, Config("server", "a"), []int64{1}), Measured(2, Config("server", "a"), []int64{1})
	failed.Complete, failed.Error = false, "trainer1 died"
	for name, r := range map[string]*result.Result{"good.json": good, "failed.json.gz": failed} {
		r.Schema = result.Schema
		if err := result.Write(path(name), r, func() {}); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path("torn.json"), []byte(`{"schema": "psb`), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Load([]string{path("good.json"), path("torn.json"), path("failed.json.gz")})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Cells) != 1 || len(s.Cells[0].Runs) != 1 || len(s.Warnings) != 1 ||
		!strings.Contains(s.Warnings[0], "torn.json is not a result that can be read") {
		t.Errorf("%+v", s)
	}
	if d := cmp.Diff([]Failure{{path("failed.json.gz"), 1, "trainer1 died"}}, s.Cells[0].Failed); d != "" {
		t.Error(d)
	}
	if s.Title != "2 runs" {
		t.Errorf("the title is %s", s.Title)
	}
	if s, err := Load([]string{path("good.json")}); err != nil || s.Name != path("good.json") ||
		s.Title != "good.json" {
		t.Errorf("%v, %v", s, err)
	}
	for _, paths := range [][]string{nil, {path("torn.json")}, {path("none.json"), path("torn.json")}} {
		if _, err := Load(paths); err == nil {
			t.Errorf("%q can be loaded", paths)
		}
	}
}

func TestTitleIsTheLastPartOfAPath(t *testing.T) {
	for path, want := range map[string]string{"study": "study", "/data/runs/a/": "a", "/": "/", "a b": "a b",
		"a\x1b": `"a\x1b"`} {
		if got := TitleOf(path); got != want {
			t.Errorf("the title of %q is %s, want %s", path, got, want)
		}
	}
}

func TestMetricOf(t *testing.T) {
	for name, want := range map[string]string{
		"throughput": "", "thruput": `unknown metric "thruput"; did you mean "throughput"?`,
		"elephant": `unknown metric "elephant"; the nearest of 29 metrics are `,
	} {
		_, err := MetricOf(name)
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

// Load warns of a round whose runs came from several hosts, because comparisons in this round also compare the hosts.
// Several processes on one host cause no warning.
func TestRoundsOfSeveralHosts(t *testing.T) {
	t.Parallel()
	const began = "20261126T020000.000000000"
	event := func(host, run string, state journal.State) journal.Event {
		return journal.Event{Run: run, State: state, Writer: host + "-7-" + began}
	}
	for want, events := range map[string][]journal.Event{
		"": {
			event("node1", "a/0", journal.Done), event("node1", "b/0", journal.Done),
			event("node2", "a/1", journal.Done), event("node2", "b/1", journal.Done),
			event("node3", "b/1", journal.Running), event("node3", "b/1", journal.Done), // the first counts
			event("node3", "b/0", journal.Failed),
			{Run: "a/0", State: journal.Done, Writer: "strange"},
		},
		"several hosts ran parts of round 1 (node-2, node3), 10 (node1, node3), so its comparisons include the differences between the hosts": {
			event("node1", "a/0", journal.Done), event("node3", "b/10", journal.Done),
			event("node1", "a/10", journal.Done),
			event("node-2", "a/1", journal.Done), event("node3", "b/1", journal.Done),
			{Run: "again/1", State: journal.Done, Writer: "node3-8-" + began + "-1"},
		},
	} {
		slices.SortStableFunc(events, func(a, b journal.Event) int { return strings.Compare(a.Writer, b.Writer) })
		if got := apart(events); got != want {
			t.Errorf("it says %q, want %q", got, want)
		}
	}
}
