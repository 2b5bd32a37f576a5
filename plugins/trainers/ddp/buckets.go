package ddp

import (
	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/sdk"
)

// firstBucketBytes keeps the first bucket small, so that communication starts
// early in backward.
const firstBucketBytes = 1 << 20

// Buckets groups parameters as DDP does: in reverse registration order, each
// is appended to the open bucket, which closes once it reaches its limit (1 MiB
// for the first bucket, limit bytes for the others and at most limit for the
// first). A sparse parameter is a bucket of its own and leaves the open one
// open.
func Buckets(params []sdk.ParameterSpec, limit int) []comm.BucketSpec {
	var out []comm.BucketSpec
	open := comm.BucketSpec{}
	openLimit := min(firstBucketBytes, limit)
	closeBucket := func(b comm.BucketSpec) {
		b.Index = len(out)
		out = append(out, b)
	}
	for k := len(params) - 1; k >= 0; k-- {
		n := comm.Elements(params[k].Shape)
		if params[k].Sparse {
			closeBucket(comm.BucketSpec{
				Parameters: []comm.Span{{Parameter: k, Elements: n}}, Elements: n,
				Sparse: true, TableRows: params[k].Shape[0], Width: params[k].Shape[1],
			})
			continue
		}
		open.Parameters = append(open.Parameters, comm.Span{Parameter: k, Offset: open.Elements, Elements: n})
		open.Elements += n
		if 4*open.Elements >= openLimit {
			closeBucket(open)
			open, openLimit = comm.BucketSpec{}, limit
		}
	}
	if len(open.Parameters) > 0 {
		closeBucket(open)
	}
	return out
}
