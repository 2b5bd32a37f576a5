package stats

import "math"

// Classes is how many samples of each of two classes there are.
type Classes struct{ Positives, Negatives int64 }

// Add is the samples of both.
func (c Classes) Add(d Classes) Classes {
	return Classes{c.Positives + d.Positives, c.Negatives + d.Negatives}
}

// AUC is the area under the ROC curve of a binary classifier: how likely a positive
// sample has a larger score than a negative one, where equal scores count half. That is
// the statistic of Mann and Whitney (1947) divided by its largest value. scores holds the
// samples of each score, in ascending order of the scores. Without samples of both classes
// there is no AUC, and ok is false. It costs one step per score.
func AUC(scores []Classes) (auc float64, ok bool) {
	var wins float64 // pairs that the positive wins; whole numbers and halves
	var below Classes
	for _, at := range scores {
		wins += float64(at.Positives) * (float64(below.Negatives) + float64(at.Negatives)/2)
		below = below.Add(at)
	}
	pairs := float64(below.Positives) * float64(below.Negatives)
	return wins / pairs, pairs > 0
}

// Entropy is the entropy of the class of a sample in nats, from 0 to ln 2: the log loss
// of always saying the share of positives, which a classifier that has learnt anything
// is below.
func (c Classes) Entropy() float64 {
	nats := func(share float64) float64 {
		if share == 0 {
			return 0
		}
		return -share * math.Log(share)
	}
	all := float64(c.Positives + c.Negatives)
	if all == 0 {
		return 0
	}
	return nats(float64(c.Positives)/all) + nats(float64(c.Negatives)/all)
}
