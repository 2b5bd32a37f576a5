package sdk

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
)

// rounds stands for the rounds that psbench runs.
type rounds struct{}

func (rounds) Reduce(HookState, *tensor.Bucket, Stepper) *comm.Future { return comm.Completed(nil) }

// plannedSettings are the settings of a planned hook.
type plannedSettings struct {
	Elements int `json:"elements" doc:"size of a payload"`
}

func planOf(s plannedSettings, env TrafficEnv) (Traffic, error) {
	if s.Elements < 1 {
		return nil, errors.New("setting elements must be above 0")
	}
	return Traffic{{{{Kind: AllReduce, Type: tensor.Int32, Elements: s.Elements * env.Trainers}}}}, nil
}

func newPlanned(plannedSettings, HookEnv) (Hook, error) { return nil, nil }

// A planned hook plans by its settings. It is built only by a psbench that runs its rounds.
func TestPlannedHook(t *testing.T) {
	part := NewPlannedHook("planned", plannedSettings{3}, planOf, newPlanned, LinkGroup)
	if !part.Plans || part.Kind != KindHook || !cmp.Equal(part.Links, []Link{LinkGroup}) {
		t.Errorf("it is declared as %+v", part)
	}
	for settings, want := range map[string]int{"{}": 6, `{"elements": 5}`: 10} {
		got, err := part.Plan([]byte(settings), TrafficEnv{Trainers: 2})
		if d := cmp.Diff(Traffic{{{{Kind: AllReduce, Type: tensor.Int32, Elements: want}}}}, got); d != "" || err != nil {
			t.Errorf("%s: %v, %s", settings, err, d)
		}
	}
	for settings, want := range map[string]string{`{"elements": 0}`: "above 0", `{"element": 1}`: "element"} {
		if _, err := part.Plan([]byte(settings), TrafficEnv{Trainers: 2}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", settings, err)
		}
	}
	if _, err := part.Build([]byte("{}"), HookEnv{Rounds: rounds{}}); err != nil {
		t.Error(err)
	}
	const old = "this psbench lays no traffic plans: update it"
	if _, err := part.Build([]byte("{}"), HookEnv{}); err == nil || err.Error() != old {
		t.Errorf("%v, want %s", err, old)
	}
	other := NewHook("other", struct{}{}, func(struct{}, HookEnv) (Hook, error) { return nil, nil }, LinkGroup)
	if _, err := other.Plan(nil, TrafficEnv{}); err == nil || err.Error() != "hook other plans no traffic" {
		t.Errorf("another hook plans: %v", err)
	}
	defer func() {
		if recover() == nil {
			t.Error("a planned hook without links is declared")
		}
	}()
	NewPlannedHook("linkless", plannedSettings{3}, planOf, newPlanned)
}
