package stats

import "math"

// Classes counts the samples of two classes.
type Classes struct{ Positives, Negatives int64 }

// Add returns the sum of c and d.
func (c Classes) Add(d Classes) Classes {
	return Classes{c.Positives + d.Positives, c.Negatives + d.Negatives}
}

// AUC returns the area under the ROC curve of a binary classifier. This area is the probability that a positive sample
// has a larger score than a negative one. Equal scores count half. AUC is the Mann-Whitney statistic (1947) divided by
// its largest value. scores holds the counts for each score in ascending order. ok is false unless both classes have
// samples. AUC takes one step per score.
func AUC(scores []Classes) (auc float64, ok bool) {
	var wins float64 // pairs in which the positive sample has the larger score; ties count half
	var below Classes
	for _, at := range scores {
		wins += float64(at.Positives) * (float64(below.Negatives) + float64(at.Negatives)/2)
		below = below.Add(at)
	}
	pairs := float64(below.Positives) * float64(below.Negatives)
	return wins / pairs, pairs > 0
}

// Entropy returns the entropy of a sample's class in nats, from 0 to ln 2. The entropy is the log loss of a classifier
// that always predicts the share of positives. A classifier that has learnt anything has a smaller log loss.
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
