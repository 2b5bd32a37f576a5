package shm

import (
	"fmt"
	"math"
	"net"
	"testing"
	"time"
)

func BenchmarkRingForNobody(b *testing.B) {
	bell := heapBell()
	for b.Loop() {
		bell.Ring()
	}
}

// BenchmarkRoundTrip sends a word to another process and waits for its answer,
// at once or after a pause that lets both processes fall asleep.
func BenchmarkRoundTrip(b *testing.B) {
	for _, pause := range []time.Duration{0, 4 * Spin} {
		b.Run(fmt.Sprintf("pause=%v", pause), func(b *testing.B) {
			s := newSegment(b, tableSize)
			h := start(b, "echo")
			must(b, SendFDs(h.conn, []byte("x"), s.FD()))
			table := newTable(s.Bytes())
			var turn uint32
			ready := when(func() bool { return table.words[1].Load() == turn })
			for b.Loop() {
				if pause > 0 {
					b.StopTimer()
					time.Sleep(pause)
					b.StartTimer()
				}
				turn++
				table.words[0].Store(turn)
				table.bells[1].Ring()
				if !table.bells[0].Wait(ready, soon()) {
					b.Fatal("no answer came")
				}
			}
			table.words[0].Store(math.MaxUint32)
			table.bells[1].Ring()
			h.wait(b)
		})
	}
}

func helpEcho(c *net.UnixConn) error {
	s, err := receiveSegment(c, tableSize)
	if err != nil {
		return err
	}
	table := newTable(s.Bytes())
	var seen, got uint32
	ready := when(func() bool { got = table.words[0].Load(); return got != seen })
	for table.bells[1].Wait(ready, soon()) && got != math.MaxUint32 {
		seen = got
		table.words[1].Store(seen)
		table.bells[0].Ring()
	}
	return nil
}

func BenchmarkNew(b *testing.B) {
	for _, touch := range []bool{false, true} {
		b.Run(fmt.Sprintf("touch=%v", touch), func(b *testing.B) {
			const size = 64 << 20
			b.SetBytes(size)
			for b.Loop() {
				s, err := New("trainer0", size, touch)
				must(b, err)
				must(b, s.Close())
			}
		})
	}
}
