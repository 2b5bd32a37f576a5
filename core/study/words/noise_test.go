package words

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/core/study/model/modeltest"
	"github.com/psbench/psbench/core/study/verdict"
	"github.com/psbench/psbench/internal/golden"
)

// machine is the environment of the test's cells.
var machine = result.Environment{CPU: "a CPU", Cores: 2, MemoryMiB: 7, OS: "linux", Arch: "amd64"}

// session returns a sweep of one cell and its A/A cell, with throughputs close to around.
func session(around float64) *model.Study {
	s := studyOf("a sweep", cellOf("server=a", sixFrom(around)...))
	s.Again = cellOf("server=a", sixFrom(around+0.5)...)
	for _, c := range []*model.Cell{s.Cells[0], s.Again} {
		for _, r := range c.Runs {
			r.Environment = machine
		}
	}
	return s
}

func threeSessions(t *testing.T) *verdict.Noise {
	t.Helper()
	n := &verdict.Noise{}
	for i, around := range []float64{100, 102, 99} {
		s := session(around)
		if i == 1 {
			s.Cells[0].Runs[0].Warnings = []string{"other processes took 7 % of 2 s"}
			s.Cells[0].Runs[3].Warnings = []string{"other processes took 12 % of 2 s", "steal"}
		}
		if err := n.Add(s); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

func TestNoiseText(t *testing.T) {
	var text bytes.Buffer
	if err := WriteNoise(&text, threeSessions(t), modeltest.Throughput(t), 0); err != nil {
		t.Fatal(err)
	}
	golden.Require(t, "testdata/noise.txt", text.String())
}

// Written noise reads back unchanged. A comparison uses the noise only for runs of the same machine.
func TestNoiseIsKept(t *testing.T) {
	n, path := threeSessions(t), filepath.Join(t.TempDir(), "noise.json")
	if err := n.Write(path); err != nil {
		t.Fatal(err)
	}
	read, err := verdict.ReadNoise(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(n, read); d != "" {
		t.Error(d)
	}
	here, elsewhere := session(1), session(1)
	elsewhere.Cells[0].Runs[5].Environment.CPU = "another CPU"
	want, err := n.Between(model.Throughput)
	if err != nil || want.Change < 0.05 || want.Change > 0.1 {
		t.Errorf("between sessions: %v, %v", want, err) // 4.3 * sqrt(2) * 1.5 %
	}
	if apart, ok := read.Apart(model.Throughput, here, here); !ok || apart.Floor != want ||
		!strings.HasPrefix(apart.Against, "3 sessions of psbench noise on ") {
		t.Errorf("on this machine: %+v, %v", apart, ok)
	}
	if _, ok := read.Apart(model.Throughput, here, elsewhere); ok {
		t.Error("it is believed on another machine")
	}
	if _, ok := read.Apart(model.HeldOutLoss, here); ok {
		t.Error("it is believed of what no run has")
	}
}

func TestNoiseRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "noise.json")
	for text, want := range map[string]string{
		`{}`:                            `has the schema "" but must have psbench.noise/1`,
		`{"schema": "psbench.noise/2"}`: `has the schema "psbench.noise/2" but must have psbench.noise/1`,
		`{"sessions": 3}`:               "must be a list",
		`{`:                             "noise.json",
	} {
		t.Run(text, func(t *testing.T) {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := verdict.ReadNoise(path); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", text, err)
			}
		})
	}
	n := threeSessions(t)
	other := session(1)
	other.Cells[0].Runs[0].Environment.Cores = 4
	if err := n.Add(other); err == nil || !strings.Contains(err.Error(), "another machine, with 4 cores") {
		t.Error(err)
	}
	if err := n.Add(&model.Study{Name: "nothing"}); err == nil || !strings.Contains(err.Error(), "nothing has no completed run") {
		t.Error(err)
	}
	if len(n.Sessions) != 3 {
		t.Errorf("%d sessions", len(n.Sessions))
	}
}

// ReadNoise returns an error for a broken file and does not panic.
func FuzzReadNoise(f *testing.F) {
	f.Add([]byte(`{"schema": "psbench.noise/1", "sessions": [{"runs": [{"throughput": 1}]}, {"runs": [{}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "noise.json")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		n, err := verdict.ReadNoise(path)
		if err != nil {
			return
		}
		_ = WriteNoise(&bytes.Buffer{}, n, model.Metrics[0], 0)
		n.Apart(model.Throughput)
	})
}
