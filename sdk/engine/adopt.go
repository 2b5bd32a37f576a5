package engine

import (
	"fmt"
	"io"
	"slices"
)

// Adopt has the engine adopt several pieces of host memory, which the error calls what. Closing
// what it returns gives them all up, the last one first; after an error none is adopted.
func Adopt(e Engine, what string, memory [][]byte) (io.Closer, error) {
	all := make(adoptions, 0, len(memory))
	for _, m := range memory {
		adopted, err := e.Adopt(m)
		if err != nil {
			_ = all.Close() // what failed first is told
			return nil, fmt.Errorf("engine %s does not adopt %d bytes of %s: %w", e.Name(), len(m), what, err)
		}
		if adopted != nil { // else there is nothing to undo
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
