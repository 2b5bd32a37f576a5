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

// No words at the end of their memory are no elements, of whatever size; the race detector checks the pointer.
func TestNoWords(t *testing.T) {
	words := make([]float32, 3)
	if n := len(tensor.As[int64](words[3:])) + len(tensor.As[int64](words[2:])) + len(tensor.As[uint16](nil)); n != 0 {
		t.Errorf("no words hold %d elements", n)
	}
}
