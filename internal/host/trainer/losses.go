package trainer

import "slices"

// losses stores the losses of a pass in chunks. Adding a loss copies nothing. A pass that is no
// longer than the one before allocates nothing.
type losses struct {
	chunks  [][]float64
	filling int // index of the chunk that is not full
}

// lossesPerChunk is the number of losses per allocation.
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

// reset clears the losses and keeps the storage.
func (l *losses) reset() {
	for i := range l.chunks {
		l.chunks[i] = l.chunks[i][:0]
	}
	l.filling = 0
}

// snapshot returns the losses so far. The returned losses stay unchanged until reset.
func (l *losses) snapshot() [][]float64 {
	return slices.DeleteFunc(slices.Clone(l.chunks), func(c []float64) bool { return len(c) == 0 })
}
