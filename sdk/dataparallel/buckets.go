package dataparallel

import (
	"fmt"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/sdk"
)

// BucketSettings are the settings of the buckets that gradients are reduced in. Trainers
// embed them in their own settings.
type BucketSettings struct {
	BucketBytes int `json:"bucket_bytes" doc:"bytes at which a bucket closes; the first one closes at 1 MiB at the latest"`
}

// DefaultBuckets are those of PyTorch's DDP.
var DefaultBuckets = BucketSettings{BucketBytes: 25 << 20}

// CheckBuckets reports a size that no bucket can have.
func (s BucketSettings) CheckBuckets() error {
	if s.BucketBytes <= 0 {
		return fmt.Errorf("bucket_bytes is %d but must be above 0", s.BucketBytes)
	}
	return nil
}

// firstBucketBytes keeps the first bucket small, so that communication starts
// early in backward.
const firstBucketBytes = 1 << 20

// PlanBuckets groups parameters as DDP does: in reverse registration order, each
// is appended to the open bucket, which closes once it has s.BucketBytes, the first
// one at 1 MiB at the latest. A sparse parameter is a bucket of its own and leaves the
// open one open.
func (s BucketSettings) PlanBuckets(parameters []sdk.ParameterSpec) []comm.BucketSpec {
	var out []comm.BucketSpec
	open := comm.BucketSpec{}
	openLimit := min(firstBucketBytes, s.BucketBytes)
	closeBucket := func(b comm.BucketSpec) {
		b.Index = len(out)
		out = append(out, b)
	}
	for k := len(parameters) - 1; k >= 0; k-- {
		n := comm.Elements(parameters[k].Shape)
		if parameters[k].Sparse {
			closeBucket(comm.BucketSpec{
				Parameters: []comm.Span{{Parameter: k, Elements: n}}, Elements: n,
				Sparse: true, TableRows: parameters[k].Shape[0], Width: parameters[k].Shape[1],
			})
			continue
		}
		open.Parameters = append(open.Parameters, comm.Span{Parameter: k, Offset: open.Elements, Elements: n})
		open.Elements += n
		if 4*open.Elements >= openLimit {
			closeBucket(open)
			open, openLimit = comm.BucketSpec{}, s.BucketBytes
		}
	}
	if len(open.Parameters) > 0 {
		closeBucket(open)
	}
	return out
}
