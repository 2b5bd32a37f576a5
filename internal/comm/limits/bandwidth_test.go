package limits

import (
	"testing"
	"time"
)

func TestBandwidth(t *testing.T) {
	for _, cores := range []int{1, 3} {
		if gbps, err := Bandwidth(cores, 1<<20, time.Millisecond); err != nil || gbps <= 0 || gbps > 1e4 {
			t.Errorf("%d cores copied %v GB/s, %v", cores, gbps, err)
		}
	}
	for _, c := range [][2]int{{0, 1 << 20}, {-1, 1 << 20}, {1, 100}, {1 << 20, 1 << 20}} {
		if _, err := Bandwidth(c[0], c[1], time.Millisecond); err == nil {
			t.Errorf("%d cores copied %d bytes", c[0], c[1])
		}
	}
}
