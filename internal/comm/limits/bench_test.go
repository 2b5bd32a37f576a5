package limits

import (
	"fmt"
	"testing"
	"time"
)

func BenchmarkLimits(b *testing.B) {
	for _, footprint := range []int{8 << 10, 2 << 20, 8 << 20, 50 << 20, 128 << 20} {
		for _, c := range []Copying{{Cores: 1}, {Cores: Cores()}, {Cores: 1, Dirty: true},
			{Cores: Cores(), Dirty: true}} {
			c.Footprint = footprint
			b.Run(fmt.Sprintf("copy/cores=%d/dirty=%v/footprint=%dKiB", c.Cores, c.Dirty, footprint>>10),
				func(b *testing.B) {
					report(b, func() (float64, error) { return Copy(c, 15*time.Millisecond) })
				})
		}
	}
	for _, both := range []bool{false, true} {
		b.Run(fmt.Sprintf("loopback/both=%v", both), func(b *testing.B) {
			report(b, func() (float64, error) { return Loopback(1, both, 100*time.Millisecond) })
		})
	}
}

func report(b *testing.B, measure func() (float64, error)) {
	var rates []float64
	for b.Loop() {
		gbps, err := measure()
		if err != nil {
			b.Skip(err)
		}
		rates = append(rates, gbps)
	}
	b.ReportMetric(median(rates), "GB/s")
}
