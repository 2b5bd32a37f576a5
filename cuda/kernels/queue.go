//go:build nvidia

package kernels

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/psbench/psbench/cuda/driver"
)

// Queue launches kernels on a stream, in the order of the calls, and never waits for them. One goroutine at a time
// may use a queue. A queue keeps its first error and does nothing after it. Calls allocate nothing, except for the
// first product and the first product that needs the workspace.
type Queue struct {
	kernels  *Kernels
	stream   *driver.Stream
	args     driver.Args
	err      error
	launches int64
	of       [kernelCount]int64 // launches of each kernel

	// workspaceElements float32 for products whose inner dimension is cut; 0 until allocated
	workspace driver.Pointer
	blas      BLAS // nil if the kernels multiply; valid once chosen is set
	chosen    bool
}

// On returns a queue for a stream. The caller must Close it.
func (k *Kernels) On(s *driver.Stream) *Queue {
	return &Queue{kernels: k, stream: s}
}

// Close frees the queue's resources once the stream has finished the queue's work. Close returns only errors of
// closing.
func (q *Queue) Close() error {
	var err error
	if q.blas != nil {
		err = q.blas.Release(q.stream)
		q.blas = nil
	}
	if q.workspace != 0 {
		err = errors.Join(err, q.kernels.context.Free(q.workspace))
		q.workspace = 0
	}
	if q.err == nil {
		q.err = errors.New("the queue is closed")
	}
	return err
}

// Err returns the first error of any call. Later calls did nothing.
func (q *Queue) Err() error { return q.err }

// Launches returns how many operations the queue has put onto its stream: kernels, products of cuBLAS, copies and
// clears.
func (q *Queue) Launches() int64 { return q.launches }

// Stream returns the stream of the queue's launches.
func (q *Queue) Stream() *driver.Stream { return q.stream }

// Clear sets x to 0.
func (q *Queue) Clear(x []float32) {
	if q.err != nil || len(x) == 0 {
		return
	}
	q.done(q.stream.Clear(pointer(x), 4*len(x)))
}

// Copy computes dst = src.
func (q *Queue) Copy(dst, src []float32) {
	if q.equal("Copy", "src", len(src), len(dst)) {
		q.done(q.stream.CopyDevice(pointer(dst), pointer(src), 4*len(dst)))
	}
}

func (q *Queue) done(err error) {
	q.launches++
	q.err = err
}

// launch runs a kernel with the arguments in args, unless there was an error.
func (q *Queue) launch(k kernel, blocks, threads [3]uint32) {
	if q.err != nil {
		return
	}
	q.launches++
	q.of[k]++
	if err := q.stream.Launch(q.kernels.functions[k], blocks, threads, 0, &q.args); err != nil {
		q.err = fmt.Errorf("kernel %s: %w", names[k], err)
	}
}

const (
	blockThreads = 256
	// mostBlocks of 256 threads fill the largest device twice. Each block may process several groups of elements.
	mostBlocks = 2048
)

// blocksFor returns the number of blocks of a grid in which each block processes per pieces at a time.
func blocksFor(work, per int) uint32 {
	return uint32(min(max(1, (work+per-1)/per), mostBlocks)) // #nosec G115 -- at most mostBlocks
}

func line(blocks uint32) [3]uint32 { return [3]uint32{blocks, 1, 1} }

// sweep begins the arguments of a kernel that processes n elements of each array, and returns its grid. The
// arguments are the arrays, n, and the start and number of the fours.
func (q *Queue) sweep(n int, arrays ...driver.Pointer) (blocks [3]uint32) {
	q.args.Reset()
	for _, a := range arrays {
		q.args.Pointer(a)
	}
	head, quads := fours(n, 4, arrays...)
	q.args.U64(uint64(n))     // #nosec G115 -- not negative
	q.args.U64(uint64(head))  // #nosec G115 -- not negative
	q.args.U64(uint64(quads)) // #nosec G115 -- not negative
	return line(blocksFor(max(quads, n-4*quads), blockThreads))
}

// fours finds the elements that can be processed in fours. The arrays have elements of so many bytes. There are
// none if the arrays differ in alignment.
func fours(n, bytes int, arrays ...driver.Pointer) (head, quads int) {
	whole := driver.Pointer(4 * bytes) // #nosec G115 -- 8 or 16
	at := arrays[0] % whole
	for _, a := range arrays[1:] {
		if a%whole != at {
			return 0, 0
		}
	}
	head = min(n, int((whole-at)%whole)/bytes) // #nosec G115 -- below 16
	return head, (n - head) / 4
}

// threads are the threads of one block.
var threads = [3]uint32{blockThreads, 1, 1}

// equal begins every call whose slice must have want elements. equal returns false if there is nothing to do or an
// error.
func (q *Queue) equal(call, what string, got, want int) bool {
	if q.err == nil && got != want {
		q.err = fmt.Errorf("%s has %d elements of %s but must have %d", call, got, what, want)
	}
	return q.err == nil && want > 0
}

// rows begins every call on a matrix [rows, columns] of n elements. rows returns the number of rows, or 0 if there
// is nothing to do or an error.
func (q *Queue) rows(call, what string, n, columns int) int {
	switch {
	case q.err != nil || n == 0:
		return 0
	case columns < 1 || n%columns != 0:
		q.err = fmt.Errorf("%s has %d elements of %s, which are not whole rows of %d", call, n, what, columns)
		return 0
	case n/columns > 1<<31-1 || columns > 1<<31-1:
		q.err = fmt.Errorf("%s has %d rows of %d but there may be at most %d of each", call, n/columns, columns,
			1<<31-1)
		return 0
	}
	return n / columns
}

// atLeast and atMost begin calls whose numbers have limits.
func (q *Queue) atLeast(call, what string, got, least int) bool {
	if q.err == nil && got < least {
		q.err = fmt.Errorf("%s has %d of %s but must have at least %d", call, got, what, least)
	}
	return q.err == nil
}

func (q *Queue) atMost(call, what string, got, most int) bool {
	if q.err == nil && got > most {
		q.err = fmt.Errorf("%s has %d of %s but may have at most %d", call, got, what, most)
	}
	return q.err == nil
}

// element is a type of elements in device memory.
type element interface {
	float32 | int64 | int32 | uint16
}

// pointer returns the address of a slice, 0 for an empty slice.
func pointer[T element](x []T) driver.Pointer {
	return driver.Pointer(uintptr(unsafe.Pointer(unsafe.SliceData(x)))) // #nosec G103 -- an address of the device
}

func (q *Queue) u32(v int) { q.args.U32(uint32(v)) } // #nosec G115 -- the callers have checked it

func (q *Queue) flag(v bool) {
	if v {
		q.args.U32(1)
	} else {
		q.args.U32(0)
	}
}
