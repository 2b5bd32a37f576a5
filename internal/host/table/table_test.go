package table

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/host/hosttest"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

// toyTable is a toy table server. Row r, column c of the table starts as seed + 10*r + c. A lookup
// sums a bag's rows. An update subtracts a bag's gradient from each of its rows.
type toyTable struct {
	spec comm.TableSpec
	env  sdk.TableEnv
	fail string

	working sync.Mutex // detects overlapping calls
	values  []float32
}

func (s *toyTable) Table() comm.TableSpec { return s.spec }

func (s *toyTable) Reset() {
	if s.values == nil {
		s.values = make([]float32, s.spec.Rows*s.spec.Width)
	}
	for i := range s.values {
		s.values[i] = float32(int(s.env.Seed) + 10*(i/s.spec.Width) + i%s.spec.Width)
	}
}

func (s *toyTable) row(r int64) []float32 { return s.values[int(r)*s.spec.Width:][:s.spec.Width] }

func (s *toyTable) begin(call string) error {
	if !s.working.TryLock() {
		return fmt.Errorf("a %s came while another call was in work", call)
	}
	if s.fail == call {
		return hosttest.ErrToy
	}
	return nil
}

func (s *toyTable) Lookup(call *comm.TableCall) error {
	if err := s.begin("lookup"); err != nil {
		return err
	}
	defer s.working.Unlock()
	for i := range call.Bags() {
		out := call.Columns(i)
		clear(out)
		for _, r := range call.Bag(i) {
			for c, v := range s.row(r) {
				out[c] += v
			}
		}
	}
	return nil
}

func (s *toyTable) Update(call *comm.TableCall) error {
	if err := s.begin("update"); err != nil {
		return err
	}
	defer s.working.Unlock()
	for i := range call.Bags() {
		for _, r := range call.Bag(i) {
			for c, g := range call.Columns(i) {
				s.row(r)[c] -= g
			}
		}
	}
	return nil
}

func (s *toyTable) Held() ([]sdk.ParameterSpec, []tensor.Tensor) {
	shape := []int{s.spec.Rows, s.spec.Width}
	return []sdk.ParameterSpec{{Name: "table", Shape: shape}}, []tensor.Tensor{{Shape: shape, Data: s.values}}
}

// PassFacts records a value, which must be collected too.
func (s *toyTable) PassFacts() map[string]string {
	s.env.Recorder.Series("toy", "end of pass").Record(sdk.Key{}, 1, 2)
	return nil
}

// tableOf creates the role of a toy table.
func tableOf(t *testing.T, on process.Config, c Config, spec comm.TableSpec, fail string) (*Role, *toyTable, error) {
	t.Helper()
	table := &toyTable{spec: spec, fail: fail}
	parts := []sdk.Part{sdk.NewTableServer("toy", struct{}{},
		func(_ struct{}, env sdk.TableEnv) (sdk.TableServer, error) {
			table.env = env
			return table, nil
		})}
	on.Part = hosttest.Choice("server", "toy")
	r, err := New(hosttest.Process(t, hosttest.Folder(t), parts, on), c)
	return r, table, err
}

func TestTableSizes(t *testing.T) {
	for spec, good := range map[comm.TableSpec]bool{
		{Rows: 1, Width: 1}:                         true,
		{Rows: math.MaxInt32, Width: math.MaxInt32}: true,
		{Rows: 0, Width: 1}:                         false,
		{Rows: 1, Width: -1}:                        false,
		{Rows: math.MaxInt32 + 1, Width: 1}:         false,
		{Rows: 1, Width: math.MaxInt32 + 1}:         false,
	} {
		r, _, err := tableOf(t, process.Config{Name: "server1"}, Config{}, spec, "")
		switch {
		case good && (err != nil || r.spec != spec):
			t.Errorf("%+v: %v", spec, err)
		case !good && (err == nil || !strings.Contains(err.Error(), "server toy: a table cannot have")):
			t.Errorf("%+v gave %v", spec, err)
		}
	}
}

func TestTableServerKnowsItsRun(t *testing.T) {
	r, table, err := tableOf(t, process.Config{Name: "server5", Rank: 5}, Config{Position: 2, Seed: 7, Trainers: 3},
		comm.TableSpec{Rows: 2, Width: 2}, "")
	hosttest.Must(t, err)
	if want := (sdk.TableEnv{Rank: 5, Name: "server5", Position: 2, Seed: 7, Trainers: 3, Recorder: r.Recorder,
		Engine: engine.Host}); table.env != want {
		t.Errorf("it knows %+v, want %+v", table.env, want)
	}
	for i, tables := range [][]comm.TableSpec{nil, {{Rows: 2, Width: 2}}, {{}, {}, {Rows: 2, Width: 3}}} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			_, err := r.Connect(comm.LookupSpec{Tables: tables}, nil)
			if err == nil || !strings.Contains(err.Error(), "server5 holds a table of 2 x 2, which is not table 2 of") {
				t.Errorf("among %v: %v", tables, err)
			}
		})
	}
}

// Calls are measured by kind, batch and trainer, unless they belong to no batch. The table's
// changes are summarized.
func TestTableCalls(t *testing.T) {
	r, table, err := tableOf(t, process.Config{Name: "server1"}, Config{Summarize: true},
		comm.TableSpec{Rows: 3, Width: 2}, "")
	hosttest.Must(t, err)
	for range 2 { // the warm-up and the measured pass
		hosttest.Must(t, r.Reset())
		values := make([]float32, 4)
		before := comm.Now()
		hosttest.Must(t,
			r.handle(&comm.TableCall{Batch: 4, Trainer: 1, Offsets: []int64{0, 2, 2}, Indices: []int64{0, 2},
				Values: values, Stride: 2, Width: 2}))
		after := comm.Now()
		if want := []float32{20, 22, 0, 0}; !slices.Equal(values, want) {
			t.Errorf("the bags are %v, want %v", values, want)
		}
		hosttest.Must(t,
			r.handle(&comm.TableCall{Batch: comm.NoBatch, Trainer: 1, Offsets: []int64{0, 1}, Indices: []int64{1},
				Values: make([]float32, 2), Stride: 2, Width: 2}))
		hosttest.Must(t, r.handle(&comm.TableCall{Batch: 4, Trainer: 1, Update: true, Offsets: []int64{0, 2, 2},
			Indices: []int64{0, 2}, Values: []float32{1, 2, 9, 9}, Stride: 2, Width: 2}))
		if m := hosttest.TimesIn(r.Recorder, "lookup"); len(m) != 1 || m[0].Key != (sdk.Key{A: 4, B: 1}) ||
			m[0].StartNS < before || m[0].StartNS+m[0].DurationNS > after {
			t.Errorf("the lookup from %d to %d was noted as %v", before, after, m)
		}
		if m := hosttest.TimesIn(r.Recorder, "update"); len(m) != 1 || m[0].Key != (sdk.Key{A: 4, B: 1}) ||
			m[0].StartNS < after {
			t.Errorf("the update after %d was noted as %v", after, m)
		}
	}
	var series []string
	var summaries []record.Summary
	hosttest.Must(t, r.Collect(func(reply record.Piece) error {
		switch q := reply.(type) {
		case *record.Series:
			series = append(series, q.Type+" "+q.Name)
		case *record.Summary:
			summaries = append(summaries, *q)
		}
		return nil
	}))
	if d := cmp.Diff([]string{"embedding_metric lookup", "embedding_metric update", "toy end of pass"},
		series); d != "" {
		t.Error(d)
	}
	if len(summaries) != 1 {
		t.Fatalf("a table has %d summaries", len(summaries))
	}
	s := summaries[0]
	if s.Name != "table" || s.Elements != 6 || s.DeltaSum != -6 || s.DeltaSumSq != 10 ||
		!slices.Equal(s.Head, []float64{-1, -1, 10, 11, 19, 19}) {
		t.Errorf("the summary is %v", s)
	}
	if table.values[0] != 0 {
		t.Errorf("the table begins with %v after its summary", table.values[0])
	}
}

func TestTableCallsThatFail(t *testing.T) {
	for _, call := range []string{"lookup", "update"} {
		t.Run(call, func(t *testing.T) {
			r, _, err := tableOf(t, process.Config{Name: "server1"}, Config{Summarize: true},
				comm.TableSpec{Rows: 3, Width: 2}, call)
			hosttest.Must(t, err)
			hosttest.Must(t, r.Reset())
			if err := r.handle(&comm.TableCall{Update: call == "update", Offsets: []int64{0}, Stride: 2,
				Width: 2}); !errors.Is(err, hosttest.ErrToy) {
				t.Errorf("a failing %s gave %v", call, err)
			}
			if m := hosttest.TimesIn(r.Recorder, call); len(m) != 0 {
				t.Errorf("a failing %s was noted: %v", call, m)
			}
		})
	}
}

// After a failed pass, a call may still be running. Collect then sends no summary, because the call
// may change the table, and Collect does not wait.
func TestCollectDuringATableCall(t *testing.T) {
	r, _, err := tableOf(t, process.Config{Name: "server1"}, Config{Summarize: true}, comm.TableSpec{Rows: 3, Width: 2},
		"")
	hosttest.Must(t, err)
	hosttest.Must(t, r.Reset())
	r.calling.Lock()
	defer r.calling.Unlock()
	hosttest.Must(t, r.Collect(func(reply record.Piece) error {
		if _, ok := reply.(*record.Summary); ok {
			t.Errorf("a table in work was summarized: %v", reply)
		}
		return nil
	}))
}
