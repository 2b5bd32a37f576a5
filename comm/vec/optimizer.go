package vec

import "math"

// SGD steps the parameters w by their gradients g, as torch.optim.SGD does without
// momentum: w -= lr*(g + weightDecay*w). It reads 8 and writes 4 bytes per parameter.
func SGD(w, g []float32, lr, weightDecay float32) {
	if weightDecay == 0 {
		Axpy(-lr, g, w)
		return
	}
	sgd(w, g[:len(w)], lr, weightDecay)
}

// Momentum steps the parameters w by their gradients g and velocities v, as
// torch.optim.SGD does with the momentum mu and a dampening of 0:
//
//	d = g + weightDecay*w
//	v = mu*v + d
//	w -= lr*v, or lr*(d + mu*v) with useNesterov
//
// A velocity of 0 makes the first step that of PyTorch, v = d. It reads 12 and writes
// 8 bytes per parameter.
func Momentum(w, g, v []float32, lr, mu, weightDecay float32, useNesterov bool) {
	g, v = g[:len(w)], v[:len(w)]
	if useNesterov {
		nesterov(w, g, v, lr, mu, weightDecay)
	} else {
		momentum(w, g, v, lr, mu, weightDecay)
	}
}

// AdamStep is what all parameters share in one step of Adam. It is kept in float64
// because 1 - Beta2 is: of a float32, 0.999 leaves it five digits.
type AdamStep struct {
	LR, Beta1, Beta2, Epsilon, WeightDecay float64
	Correction1, Correction2               float64 // 1 - Beta1^t and 1 - Beta2^t in step t = 1, 2, …
}

// Adam steps the parameters w by their gradients g, first moments m and second moments
// v, as torch.optim.Adam does (Kingma and Ba, "Adam: A Method for Stochastic
// Optimization", 2015, with L2 regularization):
//
//	d = g + WeightDecay*w
//	m = Beta1*m + (1-Beta1)*d
//	v = Beta2*v + (1-Beta2)*d²
//	w -= LR/Correction1 * m / (√v/√Correction2 + Epsilon)
//
// It reads 16 and writes 12 bytes per parameter.
func Adam(w, g, m, v []float32, c AdamStep) {
	adam(w, g[:len(w)], m[:len(w)], v[:len(w)], &[8]float32{
		float32(c.WeightDecay),
		float32(c.Beta1), float32(1 - c.Beta1),
		float32(c.Beta2), float32(1 - c.Beta2),
		float32(1 / math.Sqrt(c.Correction2)),
		float32(c.Epsilon),
		float32(c.LR / c.Correction1),
	})
}

// Adagrad steps the parameters w by their gradients g and the sums s of their squares,
// as torch.optim.Adagrad does without decays (Duchi, Hazan and Singer, "Adaptive
// Subgradient Methods", 2011): s += g², w -= lr*g/(√s + epsilon). Where both g and
// s are 0, epsilon must not be. It reads 12 and writes 8 bytes per parameter.
func Adagrad(w, g, s []float32, lr, epsilon float32) {
	adagrad(w, g[:len(w)], s[:len(w)], lr, epsilon)
}
