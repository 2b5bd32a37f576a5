package optimizer

import (
	"math"

	"github.com/psbench/psbench/comm/vec"
)

// adam is Adam as in torch.optim.Adam (see vec.Adam). For a sparse gradient, adam works like
// torch.optim.SparseAdam: moments and values change only in the gradient's rows, but the bias
// corrections count all steps. The state is two numbers per value.
type adam struct {
	parameters
	settings Settings
	steps    int
	moments1 state
	moments2 state
}

func (o *adam) Reset() error {
	o.steps = 0
	if err := o.moments1.reset(&o.parameters, o.size); err != nil {
		return err
	}
	return o.moments2.reset(&o.parameters, o.size)
}

func (o *adam) Step() error {
	o.steps++
	s := &o.settings
	dense := vec.AdamStep{
		LR: s.LR, Beta1: s.Beta1, Beta2: s.Beta2, Epsilon: s.epsilon(), WeightDecay: s.WeightDecay,
		Correction1: 1 - math.Pow(s.Beta1, float64(o.steps)),
		Correction2: 1 - math.Pow(s.Beta2, float64(o.steps)),
	}
	// SparseAdam adds epsilon to the square root before the bias correction.
	sparse := dense
	sparse.Epsilon /= math.Sqrt(dense.Correction2)
	for k, g := range o.gradients {
		w, m, v := o.values[k].Data, o.moments1[k], o.moments2[k]
		if !g.Sparse() {
			vec.Adam(w, g.Values, m, v, dense)
			continue
		}
		for i, r := range g.Rows {
			gradient := g.Values[i*g.Width : (i+1)*g.Width]
			vec.Adam(row(w, g.Width, r), gradient, row(m, g.Width, r), row(v, g.Width, r), sparse)
		}
	}
	return nil
}
