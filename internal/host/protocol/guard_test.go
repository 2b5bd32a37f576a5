package protocol

import (
	"strings"
	"testing"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/wire"
	"github.com/psbench/psbench/internal/host/protocol/protocoltest"
	"github.com/psbench/psbench/sdk"
)

// past writes a number directly behind a tensor of the host, within the same segment.
func past(p *protocoltest.Part, r role, index int32) {
	at := p.Of(uint8(r), index)
	at = at[:len(at)+4]
	copy(at[len(at)-4:], "over")
}

func TestPartsThatWritePastTheEnd(t *testing.T) {
	hook := func(bucket int, r role) func(*testing.T) error {
		return func(t *testing.T) error {
			folder := t.TempDir()
			h, store := hookOf(t, newHost(t, folder, "trainer0", "unix", late), folder, bucketsOf(17),
				func(p *protocoltest.Part, f wire.Header) error {
					if f.Batch == 5 {
						past(p, r, f.Bucket)
					}
					f.Op = opReduced
					return p.Send(f)
				})
			h.Join(sdk.Links{})
			if err := h.Reduce(at(4), store.Buckets[bucket]).Wait(); err != nil {
				t.Fatal(err)
			}
			return h.Reduce(at(5), store.Buckets[bucket]).Wait()
		}
	}
	model := func(op wire.Op, r role, index int32) func(*testing.T) error {
		return func(t *testing.T) error {
			play := playModel()
			m, _, _ := modelOf(t, described, func(p *protocoltest.Part, f wire.Header) error {
				if f.Op == op {
					past(p, r, index)
				}
				return play(p, f)
			})
			m.Initialize(1)
			if _, err := m.Forward(&batch); err != nil {
				return err
			}
			up := tensor.Tensor{Shape: []int{2, 2}, Data: make([]float32, 4)}
			return m.(sdk.FeatureModel).BackwardInput(up, make([]float32, 4), func(int) {})
		}
	}
	for want, end := range map[string]func(*testing.T) error{
		"trainer0.part wrote past the end of bucket 0 in batch 5": hook(0, roleBucket),
		"trainer0.part wrote past the end of bucket 1 in batch 5": hook(1, roleBucketRows),

		"trainer0.part wrote past the end of the values of parameter 0": model(opInitialize,
			roleValues, 0),
		"trainer0.part wrote past the end of tensor 0 of role 8": model(opForward,
			roleFeatures, 0),
		"trainer0.part wrote past the end of the gradients of bucket 1": model(opBackwardInput,
			roleGradient, 0),
		"trainer0.part wrote past the end of the row numbers of the gradient of parameter 1": model(opBackwardInput,
			roleGradientRows, 1),
		"trainer0.part wrote past the end of the feature gradient, tensor 0": model(opBackwardInput,
			roleFeatureGradient, 0),
		"trainer0.part wrote past the end of the output gradient, tensor 0": func(t *testing.T) error {
			c := criterionOf(t, func(p *protocoltest.Part, f wire.Header) error {
				past(p, roleOutputGradient, 0)
				return playCriterion(p, f)
			})
			_, err := c.Forward(tensor.New(2, 2), make([]int64, 2))
			return err
		},
	} {
		t.Run(want, func(t *testing.T) {
			if err := end(t); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("it ended with %v, want %q", err, want)
			}
		})
	}
}
