package trainer

import "slices"

// losses are the losses of a pass, in chunks. They grow without copies, and a pass that has no more
// than the one before it allocates nothing.
type losses struct {
	chunks  [][]float64
	filling int // the chunk that is not full
}

// lossesPerChunk are allocated at a time.
const lossesPerChunk = 2048

func (l *losses) add(loss float64) {
	if l.filling == len(l.chunks) {
		l.chunks = append(l.chunks, make([]float64, 0, lossesPerChunk))
	}
	c := append(l.chunks[l.filling], loss)
	l.chunks[l.filling] = c
	if len(c) == cap(c) {
		l.filling++
	}
}

// reset forgets the losses and keeps the storage.
func (l *losses) reset() {
	for i := range l.chunks {
		l.chunks[i] = l.chunks[i][:0]
	}
	l.filling = 0
}

// snapshot is the losses until now; they are not written again until a reset.
func (l *losses) snapshot() [][]float64 {
	return slices.DeleteFunc(slices.Clone(l.chunks), func(c []float64) bool { return len(c) == 0 })
}
