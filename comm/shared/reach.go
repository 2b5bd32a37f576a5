package shared

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/psbench/psbench/comm/shared/layout"
	"github.com/psbench/psbench/comm/shm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/comm/wire"
)

// probe is how a process learns whether its neighbours reach its ordinary memory: whether
// the kernel allows it, nobody else can tell. It has a word for each, which they write.
type probe []uint32

// newProbe has line tell so many neighbours where their words are.
func newProbe(neighbours int, line *layout.ProbeLine) probe {
	p := make(probe, neighbours)
	line.Address = addressOf(unsafe.Pointer(unsafe.SliceData(p)))
	return p
}

// reachedBy says whether a neighbour has written its word.
func (p probe) reachedBy(neighbour int) bool { return atomic.LoadUint32(&p[neighbour]) != 0 }

// reach opens the process at the other end of conn and writes word i of its probe. It is
// nil where the kernel does not allow it; then the neighbour's word stays unwritten, and
// its gradients go through the copies.
func reach(conn *wire.Conn, line *layout.ProbeLine, i int) *shm.Process {
	id, err := conn.PeerProcess()
	if err != nil {
		return nil
	}
	p, err := shm.OpenProcess(id)
	if err != nil {
		return nil
	}
	written := []uint32{1}
	at := line.Address + uint64(i)*4 // #nosec G115 -- a position
	if err := p.Write(at, unsafe.Slice((*byte)(unsafe.Pointer(&written[0])), 4)); err != nil {
		_ = p.Close()
		return nil
	}
	return p
}

// addressOf is where neighbours find what lies at p, which must be on the heap: its address
// is the same for as long as something points there.
func addressOf(p unsafe.Pointer) uint64 { return uint64(uintptr(p)) }

// addressOfValues is addressOf for those of a gradient.
func addressOfValues(g *tensor.Gradient) uint64 {
	return addressOf(unsafe.Pointer(unsafe.SliceData(g.Values)))
}

// abandoned holds the gradients of operations that failed while neighbours could work on
// them where they were: one that is only slow may still write there, so that memory must
// not become something else before the process ends.
var abandoned struct {
	sync.Mutex
	values [][]float32
}

func abandon(values []float32) {
	abandoned.Lock()
	defer abandoned.Unlock()
	abandoned.values = append(abandoned.values, values)
}
