package plugintest

import (
	"testing"

	"github.com/psbench/psbench/sdk"
)

// A test that loops over all parts of a plugin also finds the keys of its in-trainer kinds.
func TestCheckOfAnInTrainerKey(t *testing.T) {
	kept := t.Run("mine", func(t *testing.T) {
		Check(t, sdk.InTrainer(sdk.KindHookState, "mine"))
		if t.Skipped() {
			t.Error("it is skipped, which a CI that lets nothing be skipped takes for a fault")
		}
	})
	if !kept {
		t.Error("it is no failure")
	}
}
