package inspect

import (
	"slices"
	"testing"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk/engine"
	"github.com/psbench/psbench/sdk/engine/enginetest"
)

// Checksums differ after the smallest change of a parameter. Checksums do not depend on the memory
// that the parameter lies in.
func TestChecksums(t *testing.T) {
	dark := enginetest.New(enginetest.Full)
	defer func() {
		if err := dark.Close(); err != nil {
			t.Error(err)
		}
	}()
	of := func(e engine.Engine, values ...[]float32) []uint32 {
		var list []tensor.Tensor
		for _, v := range values {
			memory, err := engine.Floats(e, len(v))
			if err == nil && e.Addressable() {
				copy(memory, v)
			} else if err == nil {
				err = engine.In(e, memory, v)
			}
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, tensor.Tensor{Shape: []int{len(v)}, Data: memory})
		}
		sums, err := Checksums(e, list)
		if err != nil {
			t.Fatal(err)
		}
		return sums
	}
	want := of(engine.Host, []float32{1, 2, 3}, []float32{4})
	if got := of(dark, []float32{1, 2, 3}, []float32{4}); !slices.Equal(got, want) {
		t.Errorf("elsewhere the checksums are %x, want %x", got, want)
	}
	if got := of(engine.Host, []float32{1, 2.0000002, 3}, []float32{4}); got[0] == want[0] || got[1] != want[1] {
		t.Errorf("with one bit of the first parameter changed the checksums are %x, were %x", got, want)
	}
}
