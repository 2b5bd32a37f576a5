package limits

import (
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/psbench/psbench/comm"
)

// Copying holds the parameters of a copy to measure.
type Copying struct {
	// Footprint is the size of source and destination together, in bytes.
	Footprint int
	// Cores is the number of cores that copy at once. Each core copies its
	// share of the footprint. See func Cores.
	Cores int
	// Dirty makes another core rewrite the source before each copy, as happens
	// to a gradient that was just computed. Dirty needs two cores.
	Dirty bool
}

// lineBytes is the size of a cache line; no two cores share a line.
const lineBytes = 64

// blockBytes is the size of small copies.
const blockBytes = 256 << 10

// least is the minimum number of copies that a median needs, for each kind of
// copy.
const least = 5

// Copy measures memory copies for about the given time, and at least five
// copies. Copy returns the median rate of copied bytes in GB/s. Memory traffic,
// reads plus writes, is twice that rate. The time of a copy runs from the start
// of the first core to the end of the last core.
//
// Go's copy bypasses the caches from 1 MiB on, which is faster for data larger
// than the caches and slower for smaller data. Copy therefore alternates
// between one large copy and many small copies, and returns the better median.
func Copy(c Copying, during time.Duration) (gbps float64, err error) {
	if c.Cores < 1 || c.Cores > Cores() || c.Dirty && Cores() < 2 {
		return 0, fmt.Errorf("a copy by %d cores (dirty: %v) needs more than the %d cores of this process", c.Cores,
			c.Dirty, Cores())
	}
	share := c.Footprint / 2 / c.Cores / lineBytes * lineBytes
	if share == 0 {
		return 0, fmt.Errorf("a copy by %d cores needs a footprint of more than %d bytes", c.Cores, c.Footprint)
	}
	memory, err := unix.Mmap(-1, 0, 2*share*c.Cores, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return 0, fmt.Errorf("no %d MiB of memory to measure copying with: %w", c.Footprint>>20, err)
	}
	defer func() { _ = unix.Munmap(memory) }()
	return newCopiers(c, share, memory).run(during), nil
}

// copiers are the threads of one measurement. The threads go through the rounds
// in lockstep; thread 0 decides whether another round follows.
type copiers struct {
	Copying
	share        int
	memory       []byte
	threads      int
	gate         gate
	last         atomic.Bool
	begun, ended []int64      // by thread, in ns of comm.Now
	rates        [2][]float64 // rates of whole copies and of copies in blocks
}

func newCopiers(c Copying, share int, memory []byte) *copiers {
	k := &copiers{Copying: c, share: share, memory: memory, threads: c.Cores}
	if c.Dirty {
		k.threads = max(2, c.Cores) // a second thread rewrites the source
	}
	k.gate.size = int32(k.threads) // #nosec G115 -- a count of cores
	k.begun, k.ended = make([]int64, k.threads), make([]int64, k.threads)
	return k
}

func (k *copiers) run(during time.Duration) float64 {
	var all sync.WaitGroup
	until := comm.Now() + int64(during)
	cpus := allowedCPUs()
	for thread := range k.threads {
		all.Go(func() {
			if len(cpus) >= k.threads {
				defer pin(cpus[thread])()
			}
			k.copyUntil(thread, until)
		})
	}
	all.Wait()
	return max(median(k.rates[0]), median(k.rates[1]))
}

func (k *copiers) copyUntil(thread int, until int64) {
	fill(k.memory[thread*len(k.memory)/k.threads:(thread+1)*len(k.memory)/k.threads], 1)
	for round := 0; ; round++ {
		if k.Dirty {
			k.gate.pass()
			if other := (thread + 1) % k.threads; other < k.Cores {
				fill(k.source(other), byte(round))
			}
		}
		k.gate.pass()
		k.begun[thread] = comm.Now()
		if thread < k.Cores {
			k.copy(thread, round)
		}
		k.ended[thread] = comm.Now()
		k.gate.pass()
		if thread == 0 {
			k.note(round)
			k.last.Store(round >= 2*least && comm.Now() > until)
		}
		k.gate.pass()
		if k.last.Load() {
			return
		}
	}
}

// copy copies a core's share; in odd rounds it copies block by block.
func (k *copiers) copy(core, round int) {
	to, from := k.destination(core), k.source(core)
	block := len(from)
	if round%2 == 1 {
		block = min(block, blockBytes)
	}
	for at := 0; at < len(from); at += block {
		copy(to[at:], from[at:min(at+block, len(from))])
	}
}

// note records the rate of a round that all threads have ended. note skips the
// first round, which touches the memory for the first time.
func (k *copiers) note(round int) {
	if round == 0 {
		return
	}
	begun, ended := k.begun[0], k.ended[0]
	for thread := 1; thread < k.Cores; thread++ {
		begun, ended = min(begun, k.begun[thread]), max(ended, k.ended[thread])
	}
	k.rates[round%2] = append(k.rates[round%2], float64(k.share*k.Cores)/float64(max(1, ended-begun)))
}

func (k *copiers) source(core int) []byte { return k.memory[core*k.share:][:k.share] }

func (k *copiers) destination(core int) []byte { return k.memory[(k.Cores+core)*k.share:][:k.share] }

// fill writes every byte with ordinary stores. A large copy might bypass the
// caches and leave no dirty lines.
func fill(b []byte, v byte) {
	for ; len(b) >= 8; b = b[8:] {
		binary.NativeEndian.PutUint64(b, uint64(v)*0x0101010101010101)
	}
	for i := range b {
		b[i] = v
	}
}

// gate is a barrier for threads. Waiting threads spin, because a sleep would
// idle the cores and take longer than a small copy.
type gate struct {
	size    int32
	waiting atomic.Int32
	passed  atomic.Uint32
}

// yieldAfter is the number of spins between two yields of the core.
const yieldAfter = 1 << 12

func (g *gate) pass() {
	passed := g.passed.Load()
	if g.waiting.Add(1) == g.size {
		g.waiting.Store(0)
		g.passed.Add(1)
		return
	}
	for looks := 1; g.passed.Load() == passed; looks++ {
		if looks%yieldAfter == 0 {
			_, _, _ = unix.Syscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
		}
	}
}
