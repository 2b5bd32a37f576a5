package optimizer

import (
	"fmt"
	"testing"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk/engine"
)

// apart is an engine whose memory Go cannot access.
type apart struct{ engine.Engine }

func (apart) Name() string      { return "apart" }
func (apart) Addressable() bool { return false }

// stepping is an engine with its own optimizers.
type stepping struct {
	apart
	made []string
}

func (s *stepping) Optimizers() []string { return []string{SGD, Adam} }
func (s *stepping) NewOptimizer(o Settings, _ []tensor.Tensor, _ []*tensor.Gradient) (Optimizer, error) {
	s.made = append(s.made, o.Optimizer)
	return &sgd{settings: o}, nil
}

func TestEngineMakesItsOwnSteps(t *testing.T) {
	e := &stepping{apart: apart{engine.Host}}
	with := func(name string) Settings {
		s := Defaults(0.1, 0)
		s.Optimizer = name
		return s
	}
	if _, err := New(e, with(Adam), nil, nil); err != nil || len(e.made) != 1 || e.made[0] != Adam {
		t.Errorf("adam gives %v, and the engine made %v", err, e.made)
	}
	for want, err := range map[string]error{
		"engine apart has no optimizer adagrad: it has sgd, adam":                                                 errorOf(New(e, with(Adagrad), nil, nil)),
		"engine apart has no optimizers, and Go cannot step parameters in its memory: sgd is not available there": errorOf(New(apart{engine.Host}, with(SGD), nil, nil)),
	} {
		t.Run(fmt.Sprintf("%.60s", want), func(t *testing.T) {
			if err == nil || err.Error() != want {
				t.Errorf("it gives %v, want %s", err, want)
			}
		})
	}
}

func errorOf(_ Optimizer, err error) error { return err }
