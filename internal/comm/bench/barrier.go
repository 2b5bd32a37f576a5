package bench

import "github.com/psbench/psbench/comm/tensor"

// Barrier has all trainers wait for all.
var Barrier = &Operation{
	Name: "barrier", Empty: true,
	Run: func(l Links, _ int64, _ *tensor.Bucket) error { return l.Group.Barrier() },
}
