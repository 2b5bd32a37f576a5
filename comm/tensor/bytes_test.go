package tensor_test

import (
	"testing"

	"github.com/psbench/psbench/comm/tensor"
)

func TestBytesAreTheMemory(t *testing.T) {
	x := []float32{1, -2}
	tensor.Float32Bytes(x)[7] = 0x40
	if x[1] != 2 {
		t.Fatalf("the view wrote %g, want 2", x[1])
	}
	for what, n := range map[string]int{
		"no float32":  len(tensor.Float32Bytes(nil)),
		"three int32": len(tensor.Int32Bytes(make([]int32, 3))) - 12,
		"three int64": len(tensor.Int64Bytes(make([]int64, 3))) - 24,
	} {
		t.Run(what, func(t *testing.T) {
			if n != 0 {
				t.Errorf("the view of %s is off by %d bytes", what, n)
			}
		})
	}
}
