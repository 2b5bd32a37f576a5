package verdict

import (
	"math"
	"strings"
	"testing"

	"github.com/psbench/psbench/core/study/model"
)

// A run that did not reach the target counts as longer than all runs that did.
func TestTargets(t *testing.T) {
	for text, want := range map[string]string{
		"auc": "must have a number", "auc=": "must have a number", "auc=NaN": "must have a number",
		"speed=3": "must be auc, accuracy or held_out_loss", "=3": "must be auc",
	} {
		t.Run(text, func(t *testing.T) {
			if _, err := GoalOf(text); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("target %q: %v, want %q", text, err, want)
			}
		})
	}
	goal, err := GoalOf("loss=0.3")
	if err != nil {
		t.Fatal(err)
	}
	r := &model.Run{}
	for i, v := range []float64{math.NaN(), 0.4, 0.3, 0.2} {
		r.Epochs = append(r.Epochs, model.Epoch{Seconds: float64(i), Values: map[string]float64{model.HeldOutLoss: v}})
	}
	if e, ok := goal.reached(r); !ok || e.Seconds != 2 {
		t.Errorf("it is reached in epoch %v, %v", e, ok)
	}
}
