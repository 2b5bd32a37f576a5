package optimizer

import (
	"math"

	"github.com/psbench/psbench/comm/vec"
)

// adagrad is Adagrad as in torch.optim.Adagrad, without learning-rate decay (see vec.Adagrad). A
// sparse gradient changes only its rows, which gives the same result as a dense gradient with zeros
// in all other rows. The state is one number per value.
//
// Row-wise Adagrad keeps one number per row of a sparse gradient's table: the sum of the row's mean
// squared gradients. The update is sum += mean(g²), w -= lr*g/(√sum + eps), as in
// EXACT_ROWWISE_ADAGRAD of FBGEMM (Mudigere et al., "Software-Hardware Co-design for Fast and
// Scalable Training of Deep Learning Recommendation Models", 2022). For dense gradients, both
// variants are the same.
type adagrad struct {
	parameters
	settings Settings
	rowwise  bool
	sums     state // sums of squares; one per row if row-wise
}

func (o *adagrad) Reset() error {
	return o.sums.reset(&o.parameters, func(k int) int {
		if g := o.gradients[k]; o.rowwise && g.Sparse() {
			return o.size(k) / g.Width
		}
		return o.size(k)
	})
}

func (o *adagrad) Step() error {
	lr, epsilon := float32(o.settings.LR), float32(o.settings.epsilon())
	for k, g := range o.gradients {
		w, sums := o.values[k].Data, o.sums[k]
		switch {
		case !g.Sparse():
			vec.Axpy(float32(o.settings.WeightDecay), w, g.Values)
			vec.Adagrad(w, g.Values, sums, lr, epsilon)
		case o.rowwise:
			for i, r := range g.Rows {
				gradient := g.Values[i*g.Width : (i+1)*g.Width]
				sums[r] += vec.SumSquares(gradient) / float32(g.Width)
				root := float32(math.Sqrt(float64(sums[r])))
				vec.Axpy(-lr/(root+epsilon), gradient, row(w, g.Width, r))
			}
		default:
			for i, r := range g.Rows {
				gradient := g.Values[i*g.Width : (i+1)*g.Width]
				vec.Adagrad(row(w, g.Width, r), gradient, row(sums, g.Width, r), lr, epsilon)
			}
		}
	}
	return nil
}
