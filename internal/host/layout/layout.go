// Package layout assigns parameters and gradients to their places in the buckets of a plan.
package layout

import (
	"fmt"
	"math"
	"slices"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

// CheckShape returns an error if the shape of a parameter is invalid.
func CheckShape(p *sdk.ParameterSpec) error {
	elements := 1
	for _, n := range p.Shape {
		if n <= 0 || n > math.MaxInt32/elements {
			return fmt.Errorf("parameter %s has shape %v: each size must be above 0 and the elements at most %d",
				p.Name, p.Shape, math.MaxInt32)
		}
		elements *= n
	}
	if p.Sparse && len(p.Shape) != 2 {
		return fmt.Errorf("parameter %s is sparse and has shape %v: it must be a table of rows", p.Name, p.Shape)
	}
	return nil
}

// CheckOutput returns an error if the shape of a model's output is invalid.
func CheckOutput(t tensor.Tensor) error {
	if len(t.Shape) != 2 {
		return fmt.Errorf("a model's output has shape %v but must be [batch, classes]", t.Shape)
	}
	return t.Check()
}

// New calls newStore to allocate the buckets. New then points each gradient to its place in its
// bucket.
func New(params []sdk.ParameterSpec, specs []tensor.BucketSpec,
	newStore func([]tensor.BucketSpec) (*comm.Store, error)) (gradients []*tensor.Gradient, store *comm.Store,
	err error) {
	if err := CheckPlan(params, specs); err != nil {
		return nil, nil, err
	}
	if store, err = newStore(specs); err != nil {
		return nil, nil, err
	}
	return gradientsIn(len(params), store.Buckets), store, nil
}

// gradientsIn returns the gradients of all parameters, which lie in the buckets.
func gradientsIn(parameters int, buckets []*tensor.Bucket) []*tensor.Gradient {
	gradients := make([]*tensor.Gradient, parameters)
	for _, b := range buckets {
		for _, span := range b.Parameters {
			g := &b.Gradient
			if !b.Sparse {
				g = &tensor.Gradient{Values: b.Gradient.Values[span.Offset : span.Offset+span.Elements]}
			}
			gradients[span.Parameter] = g
		}
	}
	return gradients
}

// SparseBuckets returns the bucket of each sparse parameter in a store; nil for a dense parameter.
func SparseBuckets(parameters int, store *comm.Store) []*tensor.Bucket {
	buckets := make([]*tensor.Bucket, parameters)
	for _, b := range store.Buckets {
		if b.Sparse {
			buckets[b.Parameters[0].Parameter] = b
		}
	}
	return buckets
}

// NewValues allocates the parameters in the memory of an engine.
func NewValues(e engine.Engine, params []sdk.ParameterSpec) ([]tensor.Tensor, error) {
	values := make([]tensor.Tensor, len(params))
	for k, p := range params {
		data, err := engine.Floats(e, tensor.Elements(p.Shape))
		if err != nil {
			return nil, fmt.Errorf("parameter %s: %w", p.Name, err)
		}
		values[k] = tensor.Tensor{Shape: p.Shape, Data: data}
	}
	return values, nil
}

// Stage allocates gradients in the memory of an engine that Go cannot access. The host copies
// gradients between these and the given buckets. The staged buckets have the same layout and the
// same rows as the originals; each has its own memory.
func Stage(e engine.Engine, parameters int, buckets []*tensor.Bucket) ([]*tensor.Gradient, []*tensor.Bucket, error) {
	var staged []*tensor.Bucket
	for _, b := range buckets {
		values, err := engine.Floats(e, b.Room())
		if err != nil {
			return nil, nil, fmt.Errorf("the gradients of bucket %d: %w", b.Index, err)
		}
		staged = append(staged, tensor.BucketIn(values, b.Shown, b.BucketSpec))
	}
	return gradientsIn(parameters, staged), staged, nil
}

// ValuesBytes returns the size in bytes of the parameters in a segment. Each parameter starts on a
// cache line.
func ValuesBytes(params []sdk.ParameterSpec) int {
	n := 0
	for _, p := range params {
		n += (4*tensor.Elements(p.Shape) + lineBytes - 1) / lineBytes * lineBytes
	}
	return max(n, 1)
}

const lineBytes = 64

// ViewValues places the parameters in a segment of ValuesBytes bytes.
func ViewValues(at []byte, params []sdk.ParameterSpec) []tensor.Tensor {
	values := make([]tensor.Tensor, len(params))
	for k, p := range params {
		n := ValuesBytes(params[k : k+1])
		values[k] = tensor.Tensor{Shape: p.Shape, Data: tensor.ViewFloat32(at[:n])[:tensor.Elements(p.Shape)]}
		at = at[n:]
	}
	return values
}

// CheckPlan returns an error if a trainer's plan is invalid. The buckets must hold every parameter
// exactly once.
func CheckPlan(params []sdk.ParameterSpec, specs []tensor.BucketSpec) error {
	taken := make([]bool, len(params))
	for i := range specs {
		if err := checkBucket(&specs[i], params, taken); err != nil {
			return fmt.Errorf("the trainer's plan, bucket %d: %w", i, err)
		}
	}
	if k := slices.Index(taken, false); k >= 0 {
		return fmt.Errorf("the trainer's plan leaves parameter %s out of every bucket", params[k].Name)
	}
	return nil
}

// checkBucket returns an error if a bucket is invalid, and marks the bucket's parameters in taken.
// The bucket's spans must be whole parameters in sequence that fill the bucket.
func checkBucket(b *tensor.BucketSpec, params []sdk.ParameterSpec, taken []bool) error {
	if !b.Type.Is32() {
		return fmt.Errorf("it has elements of type %s, but gradients are %s", quote.String(string(b.Type)), tensor.Float32)
	}
	end := 0
	for _, span := range b.Parameters {
		if span.Parameter < 0 || span.Parameter >= len(params) {
			return fmt.Errorf("there is no parameter %d", span.Parameter)
		}
		p := &params[span.Parameter]
		switch n := tensor.Elements(p.Shape); {
		case taken[span.Parameter]:
			return fmt.Errorf("parameter %s is planned twice", p.Name)
		case span.Offset != end || span.Elements != n:
			return fmt.Errorf(
				"parameter %s with %d elements is planned as %d elements at %d, where %d is the next free place",
				p.Name, n, span.Elements, span.Offset, end)
		case b.Sparse != p.Sparse:
			return fmt.Errorf("parameter %s and its bucket must both be sparse or both be dense", p.Name)
		case b.Sparse &&
			(len(b.Parameters) != 1 || b.TableRows != p.Shape[0] || b.Width != p.Shape[1] || b.Capacity < 0 ||
				b.Capacity > b.TableRows):
			return fmt.Errorf("a sparse bucket holds one table of %v, not %d of %d x %d with room for %d rows", p.Shape,
				len(b.Parameters), b.TableRows, b.Width, b.Capacity)
		}
		taken[span.Parameter] = true
		end += span.Elements
	}
	if b.Elements != end || end == 0 {
		return fmt.Errorf("it has %d elements but its parameters have %d", b.Elements, end)
	}
	return nil
}
