package sdk

import (
	"fmt"
	"math"
	"slices"

	"github.com/psbench/psbench/comm"
)

// check says what is wrong with the shape of a parameter.
func (p *ParameterSpec) check() error {
	elements := 1
	for _, n := range p.Shape {
		if n <= 0 || n > math.MaxInt32/elements {
			return fmt.Errorf("parameter %s has shape %v: each size must be above 0 and the elements at most %d", p.Name, p.Shape, math.MaxInt32)
		}
		elements *= n
	}
	if p.Sparse && len(p.Shape) != 2 {
		return fmt.Errorf("parameter %s is sparse and has shape %v: it must be a table of rows", p.Name, p.Shape)
	}
	return nil
}

// checkOutput says what is wrong with the shape of a model's output.
func checkOutput(t comm.Tensor) error {
	if len(t.Shape) != 2 {
		return fmt.Errorf("a model's output has shape %v but must be [batch, classes]", t.Shape)
	}
	return t.Check()
}

// layOut allocates parameters and buckets, and points each gradient at its
// place in its bucket.
func layOut(params []ParameterSpec, specs []comm.BucketSpec) (values []comm.Tensor, gradients []*comm.Gradient, buckets []*comm.Bucket, err error) {
	gradients = make([]*comm.Gradient, len(params))
	for i := range specs {
		if err := checkPlan(&specs[i], params, gradients); err != nil {
			return nil, nil, nil, fmt.Errorf("the trainer's plan, bucket %d: %w", i, err)
		}
		b := comm.NewBucket(specs[i])
		buckets = append(buckets, b)
		for _, span := range b.Parameters {
			g := &b.Gradient
			if !b.Sparse {
				g = &comm.Gradient{Values: b.Gradient.Values[span.Offset : span.Offset+span.Elements]}
			}
			gradients[span.Parameter] = g
		}
	}
	if k := slices.Index(gradients, nil); k >= 0 {
		return nil, nil, nil, fmt.Errorf("the trainer's plan leaves parameter %s out of every bucket", params[k].Name)
	}
	values = make([]comm.Tensor, len(params))
	for k, p := range params {
		values[k] = comm.NewTensor(p.Shape...)
	}
	return values, gradients, buckets, nil
}

// checkPlan says what is wrong with a bucket, given the gradients that the
// buckets before it hold: its spans must be whole parameters, one after the
// other, and fill it.
func checkPlan(b *comm.BucketSpec, params []ParameterSpec, taken []*comm.Gradient) error {
	end := 0
	for i, span := range b.Parameters {
		if span.Parameter < 0 || span.Parameter >= len(params) {
			return fmt.Errorf("there is no parameter %d", span.Parameter)
		}
		p := &params[span.Parameter]
		again := slices.ContainsFunc(b.Parameters[:i], func(o comm.Span) bool { return o.Parameter == span.Parameter })
		switch n := comm.Elements(p.Shape); {
		case taken[span.Parameter] != nil || again:
			return fmt.Errorf("parameter %s is planned twice", p.Name)
		case span.Offset != end || span.Elements != n:
			return fmt.Errorf("parameter %s with %d elements is planned as %d elements at %d, where %d is the next free place", p.Name, n, span.Elements, span.Offset, end)
		case b.Sparse != p.Sparse:
			return fmt.Errorf("parameter %s is as sparse as its bucket is not", p.Name)
		case b.Sparse && (len(b.Parameters) != 1 || b.TableRows != p.Shape[0] || b.Width != p.Shape[1] || b.Capacity < 0 || b.Capacity > b.TableRows):
			return fmt.Errorf("a sparse bucket holds one table of %v, not %d of %d x %d with room for %d rows", p.Shape, len(b.Parameters), b.TableRows, b.Width, b.Capacity)
		}
		end += span.Elements
	}
	if b.Elements != end || end == 0 {
		return fmt.Errorf("it has %d elements but its parameters have %d", b.Elements, end)
	}
	return nil
}
