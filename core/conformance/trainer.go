package conformance

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/psbench/psbench/sdk"
)

// trainerTrials are the points of a trainer that has gradients reduced: what a run sees of it.
func (c *Check) trainerTrials(part sdk.Part) []trial {
	const iterations = 6
	losses := func(ctx context.Context, trainers int) ([][]float64, error) {
		out, err := c.run(ctx, map[string]any{
			"trainer": part.Key, "data": key, "ntrainer": trainers, "nserver": 0, "iterations": iterations, "rpc_timeout": patience,
			"set": map[string]any{"model": map[string]any{
				"num_embeddings": 100, "embedding_dim": 8, "dense_input_size": 8, "dense_output_size": 8,
			}},
		})
		if err != nil {
			return nil, err
		}
		return out.Losses, nil
	}
	return []trial{
		{"trains", "one rank and several train, tell the finite loss of each iteration, and end with the pass", func(ctx context.Context) error {
			for _, trainers := range []int{1, 3} {
				told, err := losses(ctx, trainers)
				if err != nil {
					return fmt.Errorf("a world of %d: %w", trainers, err)
				}
				for rank, list := range told {
					if len(list) != iterations {
						return fmt.Errorf("trainer%d of %d tells %d losses of %d iterations", rank, trainers, len(list), iterations)
					}
					if i := slices.IndexFunc(list, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }); i >= 0 {
						return fmt.Errorf("trainer%d of %d tells a loss of %g of iteration %d", rank, trainers, list[i], i)
					}
				}
			}
			return nil
		}},
		{"again", "the same run has the same losses", func(ctx context.Context) error {
			first, err := losses(ctx, 2)
			if err != nil {
				return err
			}
			second, err := losses(ctx, 2)
			if err != nil {
				return err
			}
			for rank := range first {
				if !slices.Equal(first[rank], second[rank]) {
					return fmt.Errorf("trainer%d tells %.6g and in a second run %.6g", rank, first[rank], second[rank])
				}
			}
			return nil
		}},
	}
}
