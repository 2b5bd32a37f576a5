package sdk

import "fmt"

// Stochastic declares that a model draws random numbers, as dropout does: the same batch has other
// outputs and gradients each time. What it draws must begin anew with Initialize. The points of its
// contract are tried from there.
func Stochastic(model Part) Part {
	if model.Kind != KindModel {
		panic(fmt.Sprintf("%s %s cannot be stochastic, which only a Model can", model.Kind, model.Key)) // a mistake in the plugin's source
	}
	model.Stochastic = true
	return model
}

// SmallestBatch declares how many samples the smallest batch has that a model can train on, such as 2
// with batch normalization. A smaller --batch-size is refused. The data's last batch may still be
// smaller.
func SmallestBatch(samples int, model Part) Part {
	if model.Kind != KindModel || samples < 1 {
		panic(fmt.Sprintf("%s %s cannot have a smallest batch of %d: only a Model can, of 1 sample or more", model.Kind, model.Key, samples)) // a mistake in the plugin's source
	}
	model.SmallestBatch = samples
	return model
}
