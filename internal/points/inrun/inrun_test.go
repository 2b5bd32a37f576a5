package inrun

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/psbench/psbench/internal/points/harness"
	"github.com/psbench/psbench/sdk"
)

// A trainer's settings have the values that the check wrote.
func TestSettingsTravel(t *testing.T) {
	want := &harness.Subject{
		Part: sdk.Part{
			Kind: sdk.KindServer, Serves: sdk.ServiceGradients, Links: []sdk.Link{sdk.LinkGroup}, Timing: sdk.OnArrival,
			Asynchronous: true, Answers: sdk.AnswersMean, Targets: sdk.NumberTargets, Stochastic: true,
			SmallestBatch: 2,
		},
		RanksDiffer: true, DenseOnly: true, Largest: 7,
	}
	raw, err := json.Marshal(SettingsOf(want, "answers").Values())
	if err != nil {
		t.Fatal(err)
	}
	var read Settings
	if err := json.Unmarshal(raw, &read); err != nil {
		t.Fatal(err)
	}
	unexported := cmpopts.IgnoreUnexported(harness.Subject{}, sdk.Part{})
	if d := cmp.Diff(want, read.Subject(), unexported); d != "" || read.Point != "answers" {
		t.Errorf("point %s\n%s", read.Point, d)
	}
}
