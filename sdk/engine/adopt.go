package engine

import (
	"fmt"
	"io"
	"slices"
)

// Adopt makes the engine adopt several pieces of host memory. Closing the result releases them all,
// the last one first. After an error no piece is adopted; the error calls the memory what.
func Adopt(e Engine, what string, memory [][]byte) (io.Closer, error) {
	all := make(adoptions, 0, len(memory))
	for _, m := range memory {
		adopted, err := e.Adopt(m)
		if err != nil {
			_ = all.Close() // Adopt returns the first error
			return nil, fmt.Errorf("engine %s does not adopt %d bytes of %s: %w", e.Name(), len(m), what, err)
		}
		if adopted != nil { // nil: nothing to undo
			all = append(all, adopted)
		}
	}
	return all, nil
}

// adoptions are what an engine returned for pieces of memory, in order.
type adoptions []io.Closer

// Close implements io.Closer. Its error is the first one.
func (a adoptions) Close() (first error) {
	for _, adopted := range slices.Backward(a) {
		if err := adopted.Close(); first == nil {
			first = err
		}
	}
	return first
}
