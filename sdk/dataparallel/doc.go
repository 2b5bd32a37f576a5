// Package dataparallel is what data-parallel trainers are made of, psbench's own as well as
// those of plugins: how gradients are cut into buckets, how buckets are handed to the hook
// while the backward pass runs, and how an epoch runs over the batches of a rank.
//
// A trainer uses what it needs of it:
//
//	func (t *trainer) Plan(p []sdk.ParameterSpec) ([]tensor.BucketSpec, error) {
//		return dataparallel.DefaultBuckets.PlanBuckets(p), nil
//	}
//
// and in each iteration calls Begin of a Reducer, has the model's Backward emit into it, and
// waits: then every bucket holds its reduced gradient.
package dataparallel
