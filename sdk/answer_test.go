package sdk

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/comm/tensor"
)

// Exchange computes the result of a link over all trainers, or over the trainers of one server.
func TestExchange(t *testing.T) {
	dense := tensor.BucketSpec{Elements: 2}
	sparse := tensor.BucketSpec{Elements: 8, Sparse: true, TableRows: 4, Width: 2, Capacity: 4}
	server := func(pushed []*tensor.Gradient, answer *tensor.Gradient) error {
		return answer.CopyFrom(pushed[len(pushed)-1])
	}
	for name, c := range map[string]struct {
		x                  Exchange
		sum, average, push tensor.Gradient
	}{
		"dense": {
			Exchange{Bucket: dense,
				Gradients: []*tensor.Gradient{{Values: []float32{1, 2}}, {Values: []float32{3, 4}},
					{Values: []float32{5, 6}}, {Values: []float32{7, 8}}}},
			tensor.Gradient{Values: []float32{16, 20}}, tensor.Gradient{Values: []float32{4, 5}},
			tensor.Gradient{Values: []float32{3, 4}},
		},
		"sparse": {
			Exchange{Bucket: sparse, Gradients: []*tensor.Gradient{
				{Values: []float32{1, 2}, Rows: []int32{3}, Width: 2},
				{Values: []float32{3, 4, 5, 6}, Rows: []int32{0, 3}, Width: 2},
			}},
			tensor.Gradient{Values: []float32{3, 4, 6, 8}, Rows: []int32{0, 3}, Width: 2},
			tensor.Gradient{Values: []float32{1.5, 2, 3, 4}, Rows: []int32{0, 3}, Width: 2},
			tensor.Gradient{Values: []float32{3, 4, 5, 6}, Rows: []int32{0, 3}, Width: 2},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.x.Partners = []int{0, 1}
			for what, of := range map[string]struct {
				make func(*tensor.Gradient) error
				want tensor.Gradient
			}{"sum": {c.x.Sum, c.sum}, "average": {c.x.Average, c.average}, "push-pull": {c.x.PushPull, c.push}} {
				answer := tensor.NewGradient(c.x.Bucket)
				err := of.make(&answer)
				if what == "push-pull" {
					if !errors.Is(err, ErrNoAnswer) {
						t.Errorf("%s: without a server there is an answer: %v", name, err)
					}
					c.x.Server = server
					err = c.x.PushPull(&answer)
				}
				if d := cmp.Diff(of.want, answer); d != "" || err != nil {
					t.Errorf("%s, %s: %v %s", name, what, err, d)
				}
			}
		})
	}
}
