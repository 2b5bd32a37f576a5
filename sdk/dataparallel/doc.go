// Package dataparallel provides building blocks for data-parallel trainers. They group gradients
// into buckets, hand buckets to the hook while the backward pass runs, and run an epoch over the
// batches of a rank.
//
// A trainer uses the ones that it needs:
//
//	func (t *trainer) Plan(p []sdk.ParameterSpec) ([]tensor.BucketSpec, error) {
//		return dataparallel.DefaultBuckets.PlanBuckets(p), nil
//	}
//
// In each iteration it calls Begin of a Reducer, passes the Reducer's Emit to the model's Backward,
// and calls Wait. After Wait every bucket holds its reduced gradient.
package dataparallel
