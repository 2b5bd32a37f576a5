package limits

import (
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/psbench/psbench/comm"
)

// Bandwidth measures the total rate at which several cores copy memory, in
// GB/s. Each core copies its share of the footprint, which is the size of
// source and destination together. Unlike in Copy, the cores do not wait for
// each other, so Bandwidth ends in time even on a busy machine. Bandwidth takes
// the given time, plus the time for first touching the memory.
func Bandwidth(cores, footprint int, during time.Duration) (gbps float64, err error) {
	share := footprint / 2 / max(1, cores) / lineBytes * lineBytes
	if cores < 1 || share == 0 {
		return 0, fmt.Errorf("%d cores cannot copy with a footprint of %d bytes", cores, footprint)
	}
	memory, err := unix.Mmap(-1, 0, 2*share*cores, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return 0, fmt.Errorf("no %d MiB of memory to measure copying with: %w", footprint>>20, err)
	}
	defer func() { _ = unix.Munmap(memory) }()
	rates := make([]float64, cores)
	var all sync.WaitGroup
	for core := range rates {
		all.Go(func() { rates[core] = copyFor(memory[2*share*core:][:2*share], during) })
	}
	all.Wait()
	for _, rate := range rates {
		gbps += rate
	}
	return gbps, nil
}

// copyFor copies one half of the memory to the other half for the given time
// and returns the rate.
func copyFor(memory []byte, during time.Duration) float64 {
	fill(memory, 1)
	to, from := memory[:len(memory)/2], memory[len(memory)/2:]
	begun, copied := comm.Now(), 0
	for {
		copied += copy(to, from)
		if took := comm.Now() - begun; took >= int64(during) {
			return float64(copied) / float64(max(1, took))
		}
	}
}
