package protocol

import (
	"bytes"
	"fmt"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
)

// lineBytes is the size of a cache line. Parameters, pushes and buckets start on a cache line, so
// the rest of their last line is unused.
const lineBytes = 64

// canary is the pattern that the host writes behind its tensors, in memory that nothing else uses.
// A part that writes past the end of a tensor damages the canary.
var canary = bytes.Repeat([]byte{0xa5}, lineBytes)

// toLine returns the number of unused bytes in the last cache line of a tensor that starts on one.
func toLine(memory []byte) int { return -len(memory) & (lineBytes - 1) }

// guard writes a canary of size bytes, at most one cache line, behind a tensor. end is the offset
// in the segment at which the tensor ends.
func (l *link) guard(at place, number int32, end int64, size int) {
	segment := l.numbered(number).Bytes()
	behind := segment[end:min(end+int64(size), int64(len(segment)))]
	copy(behind, canary)
	l.mu.Lock()
	l.guards[at] = behind
	l.mu.Unlock()
}

// guardBuckets writes a canary behind each bucket of a store.
func (l *link) guardBuckets(store *comm.Store) error {
	for i, b := range store.Buckets {
		values := tensor.Float32Bytes(b.Gradient.Values[:cap(b.Gradient.Values)])
		if len(values) == 0 {
			continue
		}
		number, offset, err := l.find(values)
		if err != nil {
			return err
		}
		l.guard(place{roleBucket, int32(i)}, number, offset+int64(len(values)), toLine(values)) // #nosec G115 -- an index
	}
	return nil
}

// intact reports whether the canary behind a tensor of the host is undamaged.
func (l *link) intact(r role, index int32) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	behind := l.guards[place{r, index}]
	return bytes.Equal(behind, canary[:len(behind)])
}

// allIntact returns an error that names a host tensor behind which the part has written, if there
// is one.
func (l *link) allIntact() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for at, behind := range l.guards {
		if !bytes.Equal(behind, canary[:len(behind)]) {
			return l.wrong("wrote past the end of %s", at)
		}
	}
	return nil
}

// String names a tensor of the host.
func (p place) String() string {
	name := map[role]string{
		roleValues: "the values of parameter", roleGradientRows: "the row numbers of the gradient of parameter",
		roleBucket: "the gradients of bucket", roleOutputGradient: "the output gradient, tensor",
		roleFeatureGradient: "the feature gradient, tensor",
	}[p.role]
	if name == "" {
		return fmt.Sprintf("tensor %d of role %d", p.index, p.role)
	}
	return fmt.Sprintf("%s %d", name, p.index)
}
