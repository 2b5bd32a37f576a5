package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench"
	"github.com/psbench/psbench/core/host/executable"
	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/core/study/sweep"
	"github.com/psbench/psbench/internal/comm/fabric"
	"github.com/psbench/psbench/sdk"
)

// makerOf returns a Maker of plans that counts its questions to plugins.
func makerOf(t testing.TB, asked map[string]int) *sweep.Maker {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if program, err = executable.Resolve(program); err != nil {
		t.Fatal(err)
	}
	return &sweep.Maker{
		Registry: func(c *config.Config) (*registry.Registry, error) { return c.LoadRegistry(psbench.Registry, "") },
		Catalogue: func(ctx context.Context, p registry.Plugin) ([]sdk.Part, error) {
			asked[p.Name]++
			return catalogue(ctx, p)
		},
		Program: program,
	}
}

// specOf returns a specification with the given axes.
func specOf(t testing.TB, text string, axes ...string) *sweep.Spec {
	t.Helper()
	spec, err := sweep.ParseSpec("the test", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, axis := range axes {
		if err := spec.AddAxis(axis); err != nil {
			t.Fatal(err)
		}
	}
	return spec
}

func TestReadySweeps(t *testing.T) {
	want := map[string]int{"hooks": 8, "scaling": 11, "servers": 12, "transports": 8}
	got := map[string]int{}
	for _, name := range sweep.Ready() {
		spec, err := sweep.OpenSpec(name)
		if err != nil {
			t.Fatal(err)
		}
		p, err := makerOf(t, map[string]int{}).Make(t.Context(), spec)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got[name] = len(p.Running())
		if spec.Name != name || !strings.HasSuffix(spec.Question, "?") || len(p.Warnings) > 0 {
			t.Errorf("%s is called %s, asks %q and warns of %q", name, spec.Name, spec.Question, p.Warnings)
		}
		for _, c := range p.Cells {
			if c.Runs() && (c.Expected == 0 || c.Config["check"] != true) {
				t.Errorf("%s: nobody knows how long cell %s takes, or it is not checked", name, c.Name)
			}
		}
		if name == "transports" {
			transports := p.Axes[1].Values
			for _, f := range fabric.Names() {
				// between processes of one host the default is shm
				if !slices.Contains(transports, f) && f != "delayed" && f != fabric.DefaultAcross().Name {
					t.Errorf("%s leaves out %s", name, f)
				}
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// The specification in docs/sweeps.md is valid.
func TestDocumentedSweep(t *testing.T) {
	page, err := os.ReadFile("../../docs/sweeps.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "```json\n")
	text, _, _ = strings.Cut(text, "```")
	p, err := makerOf(t, map[string]int{}).Make(t.Context(), specOf(t, text))
	if err != nil {
		t.Fatal(err)
	}
	if name := p.Cells[p.Baseline].Name; len(p.Cells) != 16 || len(p.Running()) != 12 ||
		name != "server=average ntrainer=2 size=small" {
		t.Errorf("%d of %d cells run, with the baseline %s", len(p.Running()), len(p.Cells), name)
	}
	for _, name := range sweep.Ready() {
		spec, err := sweep.OpenSpec(name)
		if row := "| `" + name + "` | " + spec.Question + " |"; err != nil || !strings.Contains(string(page), row) {
			t.Errorf("docs/sweeps.md does not have %q, %v", row, err)
		}
	}
}

// Even for hundreds of cells, psbench asks every plugin only once. Each cell has the files of its own plugins.
func TestSweepOfAPlugin(t *testing.T) {
	asked := map[string]int{}
	file := withTestPlugin(t)[1]
	text, err := json.Marshal(map[string]any{"base": map[string]any{"registry": []string{file}}, "axes": []any{}})
	if err != nil {
		t.Fatal(err)
	}
	spec := specOf(t, string(text), "server=average,slipping,echo", "ddp_hook=rpc,allreduce", "ntrainer=1..10",
		"batch_size=1,2")
	m := makerOf(t, asked)
	p, err := m.Make(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int{"builtin": 1, "test": 1}, asked); diff != "" {
		t.Error(diff)
	}
	if len(p.Cells) != 120 || len(p.Running()) != 80 {
		t.Errorf("there are %d cells, of which %d run", len(p.Cells), len(p.Running()))
	}
	for _, c := range p.Cells {
		own, same := c.Values[0] != "average", c.Values[0] != "average" && c.Values[1] == "allreduce"
		if (len(c.Plugins) > 0) != own || (c.Same != "") != same {
			t.Fatalf("cell %s uses %q, and is the same as %q", c.Name, c.Plugins, c.Same)
		}
	}
	dir := t.TempDir()
	if err := p.Write(dir); err != nil {
		t.Fatal(err)
	}
	read, err := sweep.Read(dir)
	if diff := cmp.Diff(p, read); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

// Two registry files that use the same plugin name refer to two builds of the plugin.
func TestSweepOfBuildsOfAPlugin(t *testing.T) {
	t.Chdir(t.TempDir())
	first, err := os.ReadFile(withTestPlugin(t)[1])
	if err != nil {
		t.Fatal(err)
	}
	second := strings.Replace(string(first), testPluginArgument+`"`, testPluginArgument+`", "--again"`, 1)
	for name, text := range map[string]string{"old.json": string(first), "same.json": string(first),
		"new.json": second} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p, err := makerOf(t, map[string]int{}).Make(t.Context(),
		specOf(t, `{"axes": []}`, "build=old.json,same.json,new.json", "server=slipping"))
	if err != nil {
		t.Fatal(err)
	}
	if p.Cells[0].Same != "" || p.Cells[1].Same != p.Cells[0].ID || p.Cells[2].Same != "" {
		t.Errorf("the cells are %+v", p.Cells)
	}
	path, _ := p.Cells[2].Config["registry"].([]any)
	if len(path) != 1 || !filepath.IsAbs(path[0].(string)) {
		t.Errorf("the registry of a cell is %v", path)
	}
}

// If a part of psbench would refuse a setting hours later, the plan refuses it at once. If the setting is valid with
// other values, the plan skips the cell.
func TestSweepMakesParts(t *testing.T) {
	for _, test := range []struct {
		axes    []string
		want    string // the expected error
		skipped string
	}{
		{axes: []string{"trainer.lr=0.1,-1"}, want: "cell trainer.lr=-1: trainer ddp: lr is -1 but must be above 0"},
		{axes: []string{"trainer.optimizer=sgd,sdg"},
			want: `cell trainer.optimizer=sdg: trainer ddp: optimizer is "sdg" but must be sgd, adam, adagrad or rowwise_adagrad`},
		{axes: []string{"trainer=hybrid", "server.num_embeddings=0,10"},
			want: "cell trainer=hybrid server.num_embeddings=0: server embedding: setting num_embeddings is 0 but must be from 1 to 2147483647"},
		{axes: []string{"model.embedding_dim=1024,10"},
			want: "cell model.embedding_dim=10: model dummy: layer sizes do not fit: embedding_dim is 10 and dense_input_size is 1024 but they must be equal"},
		{axes: []string{"model.blas=native,fast"},
			want: `cell model.blas=fast: model dummy: setting blas: blas engine "fast" is not known: choose one of auto, openblas, mkl, blis, native, gonum`},
		{axes: []string{"data=DummyData,file"},
			want: "cell data=file: data file: setting path is empty: give the path of a data file"},
		{
			axes:    []string{"trainer.optimizer=sgd,adam", "trainer.momentum=0,0.9"},
			skipped: "trainer ddp: momentum is 0.9 but the optimizer adam has none: its settings are lr, weight_decay, beta1, beta2, eps",
		},
	} {
		p, err := makerOf(t, map[string]int{}).Make(t.Context(), specOf(t, `{"axes": []}`, test.axes...))
		switch {
		case test.want != "":
			if err == nil || err.Error() != test.want {
				t.Errorf("%v\n got %v\nwant %s", test.axes, err, test.want)
			}
		case err != nil:
			t.Errorf("%v: %v", test.axes, err)
		default:
			if last := p.Cells[len(p.Cells)-1]; last.Skipped != test.skipped || len(p.Running()) != len(p.Cells)-1 {
				t.Errorf("%v: %d of %d cells run, and %s is skipped: %s", test.axes, len(p.Running()), len(p.Cells),
					last.Name, last.Skipped)
			}
		}
	}
}

// A program in this folder counts as a build, with or without ./ in front.
func TestSweepOfABuildOfThisFolder(t *testing.T) {
	m := makerOf(t, map[string]int{})
	t.Chdir(t.TempDir())
	if err := os.Symlink(m.Program, "this-build"); err != nil {
		t.Fatal(err)
	}
	p, err := m.Make(t.Context(), specOf(t, `{"axes": []}`, "build=this-build,./this-build"))
	if err != nil {
		t.Fatal(err)
	}
	if p.Cells[0].Binary != m.Program || p.Cells[1].Same != p.Cells[0].ID {
		t.Errorf("the cells are %+v", p.Cells)
	}
}

func BenchmarkPlan(b *testing.B) {
	for b.Loop() {
		if _, err := makerOf(b, map[string]int{}).Make(b.Context(),
			specOf(b, `{"axes": []}`, "server=average,average_batch", "ntrainer=1..100")); err != nil {
			b.Fatal(err)
		}
	}
}
