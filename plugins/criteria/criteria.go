// Package criteria provides the built-in loss functions.
package criteria

import "github.com/psbench/psbench/sdk"

// Parts lists the criteria of this package.
func Parts() []sdk.Part {
	return []sdk.Part{
		sdk.NewCriterion("cel", struct{}{}, NewCrossEntropy),
	}
}
