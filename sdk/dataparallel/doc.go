// Package dataparallel provides building blocks for data-parallel trainers. The blocks group
// gradients into buckets, pass buckets to the hook during the backward pass, and run an epoch over
// the batches of a rank.
//
// A trainer uses only the blocks that it needs:
//
//	func (t *trainer) Plan(p []sdk.ParameterSpec) ([]tensor.BucketSpec, error) {
//		return dataparallel.DefaultBuckets.PlanBuckets(p), nil
//	}
//
// In each iteration, the trainer calls Begin of a Reducer, passes the Reducer's Emit to the model's
// Backward, and calls Wait. After Wait, every bucket holds its reduced gradient.
package dataparallel
