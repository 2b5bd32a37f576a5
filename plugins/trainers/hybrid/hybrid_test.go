package hybrid

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/plugins/trainers/internal/trainertest"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/optimizer"
)

// An iteration does all its steps in order, and every server gets its columns.
func TestIterations(t *testing.T) {
	for _, lookup := range []string{"parallel", "serial"} {
		t.Run(lookup, func(t *testing.T) {
			s := newStub()
			tr, tables, rec := attached(t, s, Settings{Lookup: lookup}, 2)
			for pass := range 2 {
				s.events, s.features = nil, nil
				rec.Reset()
				var told trainertest.Told
				if err := tr.Train(t.Context(), &told); err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(trainertest.Told{Epochs: []int{0, 1}, Losses: []float64{1, 1, 1, 1}}, told); d != "" {
					t.Errorf("pass %d told %s", pass, d)
				}
				iteration := []string{
					"lookup 0", "lookup 1", "lookup 2", "lookup 3", "forward", "reduce 0", "reduce 1", "backward",
					"update 0", "update 1", "update 2", "update 3",
				}
				if d := cmp.Diff(slices.Repeat(iteration, 4), s.events); d != "" {
					t.Errorf("pass %d: %s", pass, d)
				}
				if d := cmp.Diff([][]float32{
					{0, 0, 0, 0, 1, 1, 1, 1}, {10, 10, 10, 10}, {20, 20, 20, 20, 21, 21, 21, 21}, {30, 30, 30, 30},
				}, s.features); d != "" {
					t.Errorf("pass %d computed with %s", pass, d)
				}
				for i, table := range tables { // the last batch has one bag
					if d := cmp.Diff([]float32{float32(i + 1)}, table.got); d != "" {
						t.Errorf("table %d was sent %s", i, d)
					}
				}
				if got := tr.iteration.parts.Values[0].Data[0]; got != float32(-0.5*4*float64(pass+1)) {
					t.Errorf("pass %d ends with the parameter %v", pass, got)
				}
				requireTimes(t, rec)
				if err := tr.Reset(); err != nil {
					t.Fatal(err)
				}
			}
			if s.events[len(s.events)-1] != "initialize" {
				t.Error("a reset does not initialize the model")
			}
		})
	}
}

// requireTimes requires one measurement per epoch or iteration in each series, with consistent times.
func requireTimes(t *testing.T, rec *sdk.Recorder) {
	t.Helper()
	series := trainertest.Series(rec)
	var keys []string
	for _, m := range series["epoch_metric,epoch"] {
		keys = append(keys, m.Key.String())
	}
	if d := cmp.Diff([]string{"0,0", "1,0"}, keys); d != "" {
		t.Errorf("epochs are %s", d)
	}
	names := []string{"lookup_metric,lookup", "forward_metric,forward_pass", "backward_metric,backward",
		"update_metric,embedding_update", "batch_level_metric,batch_all"}
	trainertest.RequireParts(t, series, names[0], names[1], "iteration_metric,backward",
		"iteration_metric,exposed communication", "iteration_metric,optimizer", "iteration_metric,exposed update")
	if len(series) != len(names)+6 {
		t.Errorf("there are %d series", len(series))
	}
	for _, name := range names {
		for i, m := range series[name] {
			if m.Key != (sdk.Key{A: int64(i / 2), B: int64(i % 2)}) || m.DurationNS < 0 {
				t.Errorf("%s, iteration %d: %+v", name, i, m)
			}
		}
		if len(series[name]) != 4 {
			t.Fatalf("%s has %d measurements", name, len(series[name]))
		}
	}
	end := func(m sdk.Measurement) int64 { return m.StartNS + m.DurationNS }
	for i := range 4 {
		lookup, forward, backward, update, whole := series[names[0]][i], series[names[1]][i], series[names[2]][i],
			series[names[3]][i], series[names[4]][i]
		if lookup.StartNS != whole.StartNS || forward.StartNS != end(lookup) || backward.StartNS != end(forward) ||
			update.StartNS < backward.StartNS || update.StartNS > end(backward) || end(backward) > end(whole) ||
			end(update) > end(whole) {
			t.Errorf("iteration %d: lookup %+v, forward %+v, backward %+v and update %+v do not lie within %+v", i,
				lookup, forward, backward, update, whole)
		}
	}
}

// Updates start while a bucket is in flight: in this test, the bucket arrives only with the last update.
func TestUpdatesStartBeforeTheLastReductionEnds(t *testing.T) {
	s := newStub()
	tr, _, _ := attached(t, s, Settings{Lookup: "parallel"}, 1)
	links := tr.iteration.tables.Links
	reduce := pending(t)
	s.futures["reduce 1"] = reduce.Future()
	last := links[3]
	links[3] = calling{lookup: func() *comm.Future { return last.Lookup(0) }, update: func() *comm.Future {
		reduce.Complete(nil)
		return last.Update(0)
	}}
	tr.parts.Batches = sdk.NewBatches(stubBatches[:1])
	if err := tr.Train(t.Context(), &trainertest.Told{}); err != nil {
		t.Error(err)
	}
}

// Parallel lookups all start before the trainer waits for any of them: in this test, none finishes before the last
// one has started. Serial lookups each wait for the previous one.
func TestLookups(t *testing.T) {
	for _, lookup := range []string{"parallel", "serial"} {
		tr, _, _ := attached(t, newStub(), Settings{Lookup: lookup}, 1)
		flights := []*comm.Promise{pending(t), pending(t), pending(t), pending(t)}
		for i, link := range tr.iteration.tables.Links {
			start := func() *comm.Future {
				switch {
				case lookup == "serial" && i > 0 && flights[i-1].Future().EndNS() == 0:
					t.Errorf("lookup %d starts before the one before is done", i)
				case lookup == "serial":
					time.AfterFunc(2*time.Millisecond, func() { flights[i].Complete(nil) })
				case i == 3:
					for _, p := range flights {
						p.Complete(nil)
					}
				}
				return flights[i].Future()
			}
			tr.iteration.tables.Links[i] = calling{lookup: start, update: func() *comm.Future { return link.Update(0) }}
		}
		tr.parts.Batches = sdk.NewBatches(stubBatches[:1])
		if err := tr.Train(t.Context(), &trainertest.Told{}); err != nil {
			t.Errorf("%s: %v", lookup, err)
		}
	}
}

func TestIterationAllocatesNothing(t *testing.T) {
	s := newStub()
	s.quiet = true
	tr, _, _ := attached(t, s, Settings{Lookup: "parallel"}, 1)
	done := comm.Completed(nil)
	call := func() *comm.Future { return done }
	for i := range tr.iteration.tables.Links {
		tr.iteration.tables.Links[i] = calling{lookup: call, update: call}
	}
	step := func() {
		for i := range stubBatches {
			if _, err := tr.iteration.step(sdk.Key{}, &stubBatches[i]); err != nil {
				t.Fatal(err)
			}
		}
	}
	step()
	if n := testing.AllocsPerRun(200, step); n != 0 {
		t.Errorf("two iterations allocate %v times", n)
	}
}

func TestTrainFails(t *testing.T) {
	lost := &comm.PeerError{Waiter: "trainer0", Peer: "server1", What: "rows", Err: errors.New("gone")}
	for event, after := range map[string][]string{ // events that still happen
		"lookup 1": {"lookup 2", "lookup 3"},
		"reduce 0": {"reduce 1", "update 3"},
		"update 1": {"update 2", "update 3"},
	} {
		t.Run(event, func(t *testing.T) {
			s := newStub()
			s.futures[event] = comm.Completed(lost)
			tr, _, _ := attached(t, s, Settings{Lookup: "parallel"}, 1)
			err := tr.Train(t.Context(), &trainertest.Told{})
			if !errors.Is(err, lost) || !strings.Contains(err.Error(), "trainer0, epoch 0, batch 0: ") {
				t.Errorf("%s that fails gives %v", event, err)
			}
			for _, want := range after {
				if !slices.Contains(s.events, want) {
					t.Errorf("after %s failed there is no %s: %v", event, want, s.events)
				}
			}
		})
	}
	s := newStub()
	s.futures["lookup 0"] = comm.Completed(lost)
	tr, _, _ := attached(t, s, Settings{Lookup: "serial"}, 1)
	if err := tr.Train(t.Context(), &trainertest.Told{}); !errors.Is(err, lost) ||
		slices.Contains(s.events, "lookup 1") {
		t.Errorf("the first of serial lookups failed: %v, %v", err, s.events)
	}

	s = newStub()
	s.silent = true
	tr, _, _ = attached(t, s, Settings{Lookup: "parallel"}, 1)
	if err := tr.Train(t.Context(), &trainertest.Told{}); err == nil ||
		!strings.Contains(err.Error(), "the model ended backward with 1 gradients of bucket 0 missing") {
		t.Errorf("a model that leaves out its gradients gives %v", err)
	}
	tr, _, _ = attached(t, newStub(), Settings{Lookup: "parallel"}, 1)
	trainertest.RequireCancelled(t, tr)
}

func TestPlanInputs(t *testing.T) {
	mlp := sdk.InputSpec{Features: 512, Classes: 8}
	dlrm := sdk.InputSpec{Features: 13 + 2*16, LookedUp: 2 * 16, Tables: []int{5, 7}, Classes: 2}
	for name, c := range map[string]struct {
		model  sdk.InputSpec
		tables []comm.TableSpec
		want   sdk.InputSpec
		err    string
	}{
		"one row": {mlp, slices.Repeat([]comm.TableSpec{{Rows: 300, Width: 64}}, 8),
			sdk.InputSpec{Rows: 300, Classes: 8, Targets: 1}, ""},
		"two rows": {mlp, slices.Repeat([]comm.TableSpec{{Rows: 300, Width: 256}}, 4),
			sdk.InputSpec{Rows: 300, Classes: 8, Targets: 2}, ""},
		"uneven": {mlp, []comm.TableSpec{{Rows: 300, Width: 500}, {Rows: 20, Width: 12}},
			sdk.InputSpec{Rows: 20, Classes: 8, Targets: 1}, ""},
		"no row": {mlp, slices.Repeat([]comm.TableSpec{{Rows: 300, Width: 100}}, 3), sdk.InputSpec{},
			"3 servers x 100 columns are 300, which must be a multiple of the model's 512 inputs: change"},
		"and a bit": {mlp, []comm.TableSpec{{Rows: 300, Width: 512}, {Rows: 300, Width: 1}}, sdk.InputSpec{},
			"the tables of 2 servers have 513 columns, which must be a multiple of the model's 512 inputs"},
		"none": {mlp, nil, sdk.InputSpec{}, "needs at least one server with a table"},
		"rows": {dlrm, slices.Repeat([]comm.TableSpec{{Rows: 12, Width: 8}}, 2),
			sdk.InputSpec{Features: 13, Classes: 2, Tables: []int{5, 7}}, ""},
		"more rows": {dlrm, []comm.TableSpec{{Rows: 300, Width: 15}, {Rows: 13, Width: 1}},
			sdk.InputSpec{Features: 13, Classes: 2, Tables: []int{5, 7}}, ""},
		"few rows": {dlrm, []comm.TableSpec{{Rows: 300, Width: 15}, {Rows: 11, Width: 1}}, sdk.InputSpec{},
			"a server has a table of 11 rows but the model's 2 tables have 12 together: give every server that many"},
		"wide rows": {dlrm, slices.Repeat([]comm.TableSpec{{Rows: 12, Width: 64}}, 2), sdk.InputSpec{},
			"2 servers x 64 columns are 128 but a row of the model's tables has 16: give each server 8 columns"},
		"a third": {dlrm, slices.Repeat([]comm.TableSpec{{Rows: 12, Width: 5}}, 3), sdk.InputSpec{},
			"3 servers x 5 columns are 15 but a row of the model's tables has 16: choose a count of servers that divides 16"},
		"odd rows": {sdk.InputSpec{Features: 13, LookedUp: 5, Tables: []int{5, 7}},
			[]comm.TableSpec{{Rows: 12, Width: 1}}, sdk.InputSpec{},
			"of the model's 13 features 5 are rows of 2 tables, but each table must have the same number of them"},
		"no tables": {sdk.InputSpec{Features: 13, LookedUp: 5}, []comm.TableSpec{{Rows: 12, Width: 1}}, sdk.InputSpec{},
			"of the model's 13 features 5 are rows of 0 tables, but each table must have the same number of them"},
		"its own": {sdk.InputSpec{Features: 13, Tables: []int{5, 7}}, []comm.TableSpec{{Rows: 12, Width: 1}},
			sdk.InputSpec{},
			"the model looks rows up in 2 tables of its own but the hybrid trainer does that, on the servers"},
		"bags": {sdk.InputSpec{Rows: 10, Classes: 3}, []comm.TableSpec{{Rows: 3, Width: 1}}, sdk.InputSpec{},
			"the model takes 0 numbers and indices into 10 rows but the hybrid trainer needs one that takes numbers alone, as mlp does"},
	} {
		t.Run(name, func(t *testing.T) {
			tr, err := New(Defaults, sdk.TrainerEnv{})
			if err != nil {
				t.Fatal(err)
			}
			got, err := tr.(sdk.InputPlanner).PlanInputs(c.model, c.tables)
			if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("%s: %v, want %q", name, err, c.err)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("%s: %s", name, d)
			}
		})
	}
}

func TestRefuses(t *testing.T) {
	for want, change := range map[string]func(*Settings){
		"lr is 0 but must be above 0": func(s *Settings) { s.LR = 0 },
		"momentum is 0.5 but the optimizer adam has none": func(s *Settings) {
			s.Optimizer, s.Momentum = optimizer.Adam, 0.5
		},
		`lookup is "both" but must be parallel or serial`: func(s *Settings) { s.Lookup = "both" },
		"bucket_bytes is -1 but must be above 0":          func(s *Settings) { s.BucketBytes = -1 },
	} {
		t.Run(want, func(t *testing.T) {
			s := Defaults
			change(&s)
			if _, err := New(s, sdk.TrainerEnv{}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%+v gives %v, want %q", s, err, want)
			}
		})
	}
	tr, err := New(Defaults, sdk.TrainerEnv{})
	if err != nil {
		t.Fatal(err)
	}
	if err := tr.Attach(sdk.TrainerParts{}); err == nil ||
		!strings.Contains(err.Error(), "needs tables but the run has none") {
		t.Errorf("without tables: %v", err)
	}
	plain := struct{ sdk.Model }{newStub()}
	if err := tr.Attach(sdk.TrainerParts{Model: plain, Tables: &sdk.Tables{}}); err == nil ||
		!strings.Contains(err.Error(), "gives the gradient of its features") {
		t.Errorf("with a plain model: %v", err)
	}
	if parts := Parts(); len(parts) != 1 || parts[0].Kind != sdk.KindTrainer || parts[0].Key != "hybrid" {
		t.Errorf("parts are %+v", parts)
	}
}
