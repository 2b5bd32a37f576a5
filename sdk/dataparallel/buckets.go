package dataparallel

import (
	"fmt"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
)

// BucketSettings are the settings of gradient buckets. Trainers embed BucketSettings in their own
// settings.
type BucketSettings struct {
	BucketBytes int `json:"bucket_bytes" doc:"bytes at which a bucket closes; the first one closes at 1 MiB at the latest"`
}

// DefaultBuckets are the settings of PyTorch's DDP.
var DefaultBuckets = BucketSettings{BucketBytes: 25 << 20}

// CheckBuckets returns an error unless BucketBytes is above 0.
func (s BucketSettings) CheckBuckets() error {
	if s.BucketBytes <= 0 {
		return fmt.Errorf("bucket_bytes is %d but must be above 0", s.BucketBytes)
	}
	return nil
}

// firstBucketBytes keeps the first bucket small, so that communication starts early in the backward
// pass.
const firstBucketBytes = 1 << 20

// PlanBuckets groups parameters like DDP. It appends parameters to the open bucket in reverse
// registration order. A bucket closes once it has s.BucketBytes; the first one closes at 1 MiB at
// the latest. A sparse parameter gets its own bucket and does not close the open one.
func (s BucketSettings) PlanBuckets(parameters []sdk.ParameterSpec) []tensor.BucketSpec {
	var out []tensor.BucketSpec
	open := tensor.BucketSpec{}
	openLimit := min(firstBucketBytes, s.BucketBytes)
	closeBucket := func(b tensor.BucketSpec) {
		b.Index = len(out)
		out = append(out, b)
	}
	for k := len(parameters) - 1; k >= 0; k-- {
		n := tensor.Elements(parameters[k].Shape)
		if parameters[k].Sparse {
			closeBucket(tensor.BucketSpec{
				Parameters: []tensor.Span{{Parameter: k, Elements: n}}, Elements: n,
				Sparse: true, TableRows: parameters[k].Shape[0], Width: parameters[k].Shape[1],
			})
			continue
		}
		open.Parameters = append(open.Parameters, tensor.Span{Parameter: k, Offset: open.Elements, Elements: n})
		open.Elements += n
		if 4*open.Elements >= openLimit {
			closeBucket(open)
			open, openLimit = tensor.BucketSpec{}, s.BucketBytes
		}
	}
	if len(open.Parameters) > 0 {
		closeBucket(open)
	}
	return out
}
