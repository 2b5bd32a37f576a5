package models

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

func TestDLRMErrors(t *testing.T) {
	r := newRecommender(t, smallDLRM, sdk.ModelEnv{})
	upstream := tensor.New(1, 1)
	if err := r.Backward(upstream, r.emit); err == nil || !strings.Contains(err.Error(), "cannot go backward before") {
		t.Errorf("backward first gives %v", err)
	}
	beyond := clicks(smallDLRM, 1, 0)
	beyond.Indices[1] = 2
	for want, b := range map[string]*sdk.Batch{
		"a batch has 0 samples": {},
		"a batch of 1 samples has 2 numbers but the model takes 3 for each": {Features: []float32{1, 2},
			Targets: []int64{0}},
		"a batch of 1 samples has 0 indices but must have one for each of 3 tables":   numbered(1, 3, 0),
		"index 2 of sample 0 lies outside table 1: it must be at least 0 and below 2": beyond,
	} {
		t.Run(fmt.Sprintf("%.60s", want), func(t *testing.T) {
			if _, err := r.Forward(b); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
			if err := r.Backward(upstream, r.emit); err == nil {
				t.Errorf("after %q the model went backward", want)
			}
		})
	}
	if _, err := r.Forward(clicks(smallDLRM, 1, 0)); err != nil {
		t.Fatal(err)
	}
	if err := r.Backward(tensor.New(1, 2), r.emit); err == nil || !strings.Contains(err.Error(), "has shape [1 2]") {
		t.Errorf("a gradient of two columns gives %v", err)
	}
	if err := r.BackwardInput(upstream, make([]float32, 2), r.emit); err == nil ||
		!strings.Contains(err.Error(), "the input's gradient has room for 2 values") {
		t.Errorf("too little room gives %v", err)
	}
	if _, err := (&dlrm{settings: smallDLRM}).Forward(clicks(smallDLRM, 1, 0)); err == nil {
		t.Error("an unbound model went forward")
	}
	if err := r.Bind(r.params[:1], r.grads); err == nil || !strings.Contains(err.Error(), "handed 1 values") {
		t.Errorf("Bind says %v", err)
	}
	s := smallDLRM
	s.Tables = TablesOnServers
	served := newRecommender(t, s, sdk.ModelEnv{})
	if err := served.Backward(upstream, r.emit); err == nil ||
		!strings.Contains(err.Error(), "must be asked for the gradient of its features") {
		t.Errorf("Backward of looked up rows gives %v", err)
	}
}

func TestDLRMSettingsThatDoNotFit(t *testing.T) {
	for want, change := range map[string]func(*DLRMSettings){
		`setting tables is "here" but must be model or servers`: func(s *DLRMSettings) {
			s.Tables = "here"
		},
		"setting dense_features is 0 but must be from 1 to 2147483647": func(s *DLRMSettings) {
			s.DenseFeatures = 0
		},
		"setting embedding_dim is -1 but must be from 1 to 2147483647": func(s *DLRMSettings) {
			s.EmbeddingDim = -1
		},
		"setting table_rows has length 0 but must have 1 to 1000 numbers: the rows of each": func(s *DLRMSettings) {
			s.TableRows = nil
		},
		"setting bottom_layers has length 0 but must have 1 to 10000 numbers: the outputs of": func(s *DLRMSettings) {
			s.BottomLayers = nil
		},
		"setting top_layers has length 0 but must have 1 to 10000 numbers": func(s *DLRMSettings) {
			s.TopLayers = nil
		},
		"setting table_rows[1] is 0 but must be from 1 to 2147483647": func(s *DLRMSettings) {
			s.TableRows = []int{1, 0}
		},
		"setting table_rows has 4294967294 rows in all tables together but the limit is 2147": func(s *DLRMSettings) {
			s.TableRows = []int{math.MaxInt32, math.MaxInt32}
		},
		"setting bottom_layers[0] is 0 but must be": func(s *DLRMSettings) {
			s.BottomLayers = []int{0, 16}
		},
		"setting top_layers[0] is -2 but must be": func(s *DLRMSettings) {
			s.TopLayers = []int{-2, 1}
		},
		"the last of bottom_layers is 8 and embedding_dim is 16 but they must be equal": func(s *DLRMSettings) {
			s.BottomLayers = []int{8}
		},
		"the last of top_layers is 2 but must be 1, the logit": func(s *DLRMSettings) {
			s.TopLayers = []int{2}
		},
		"a model of 3.44e+11 parameters is too large: the limit is 2.75e+11": func(s *DLRMSettings) {
			s.TableRows = []int{math.MaxInt32}
			s.EmbeddingDim, s.BottomLayers = 160, []int{160}
		},
		"a largest batch of 100000000 samples makes 4.88e+11 activations, which is too many: ": func(*DLRMSettings) {},
		`setting blas: blas engine "quick" is not known`: func(s *DLRMSettings) {
			s.BLAS = "quick"
		},
	} {
		t.Run(fmt.Sprintf("%.60s", want), func(t *testing.T) {
			s, env := DefaultDLRM, sdk.ModelEnv{MaxBatch: 10, Engine: engine.Host}
			change(&s)
			if strings.Contains(want, "batch") {
				env.MaxBatch = 100_000_000
			}
			if _, err := NewDLRM(s, env); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		})
	}
}
