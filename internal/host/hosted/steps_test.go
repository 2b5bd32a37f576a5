package hosted

import (
	"errors"
	"testing"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/host/hosttest"
	"github.com/psbench/psbench/internal/host/layout"
	"github.com/psbench/psbench/sdk"
)

// ownWays is a model with its own Step and Evaluate methods.
type ownWays struct{ hosttest.FeatureModel }

func (*ownWays) Step() error { return errors.New("no step") }
func (*ownWays) Evaluate(*sdk.Batch) (tensor.Tensor, error) {
	return tensor.New(7, 7), nil
}

func TestModelsWithWaysOfTheirOwn(t *testing.T) {
	plain, own := hostModel(&hosttest.FeatureModel{}, "model plain"), hostModel(&ownWays{}, "model own")
	if d := layout.Describe(plain); !d.FeatureGradient || d.Steps || d.Evaluates || StepOf(plain) != nil {
		t.Errorf("a model without ways of its own is described as %+v", d)
	}
	if d := layout.Describe(own); !d.FeatureGradient || !d.Steps || !d.Evaluates {
		t.Errorf("a model with ways of its own is described as %+v", d)
	}
	if err := StepOf(own)(); err == nil || err.Error() != "model own, Step: no step" {
		t.Errorf("its step failed as %v", err)
	}
	batch := &sdk.Batch{Features: make([]float32, 3), Targets: []int64{0}}
	const want = "model own answered a batch of 1 with an output of 7 x 7"
	if _, err := sdk.Evaluator(own)(batch); err == nil || err.Error() != want {
		t.Errorf("a wrong output was refused as %v", err)
	}
}
