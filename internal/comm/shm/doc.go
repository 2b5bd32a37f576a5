// Package shm provides shared memory between the processes of one host:
// segments, passing of their descriptors, and bells to wait at.
//
// # Who may write what, and when
//
// A segment has one owner. The owner's peers map the segment too, either to
// read or to read and write. A payload (values, rows, samples) has one writer
// at a time. Each payload has a word, such as a sequence number, that says
// whose turn it is.
//
//   - The writer fills the payload with plain stores and then stores the word
//     with a sync/atomic operation. This is the release: a reader that sees the
//     word also sees the payload.
//   - The reader loads the word with a sync/atomic operation. Once the word has
//     the awaited value, the reader loads the payload with plain loads. This is
//     the acquire.
//   - From then on the payload belongs to the reader, until the reader hands it
//     back by another word. A process touches a payload only in its turn.
//   - Only one process writes a word, unless all use operations that combine
//     (Add, CompareAndSwap). Words of different writers lie in different cache
//     lines (64 bytes); otherwise every store would move the line between
//     cores.
//
// Go's atomics are sequentially consistent. Sequential consistency also holds
// between processes, because the operations are single instructions on the same
// physical memory. A [Bell] needs sequential consistency. In a build with the
// race detector, stores to a segment only release. Suppose each side stores a
// word and then loads the other's word, and one of them must see the other. In
// such a build this only works through a Bell, or with Add and Swap.
//
// Data from a peer are untrusted input. A count, an offset or a row number in a
// segment may be anything, and may change between two loads. So load it once,
// check the loaded copy, and use the copy.
//
// # What the race detector sees
//
// The detector follows Go's own memory and the threads of one process. The
// detector does not see other processes, and it ignores segments even within
// one process. The detector reports no race on a segment's bytes, and an atomic
// operation on a segment's word orders nothing for the detector. This leads to
// two rules. First, protocols are also tested on memory of the Go heap, which
// the detector sees. Second, heap memory that several goroutines share must be
// guarded by heap words, mutexes or channels, never only by a word in a
// segment. Otherwise the detector reports a race where there is none.
//
// # Life of a segment
//
// A segment is a memfd. A segment has no name in any file system, so it leaves
// nothing behind, however its processes end. The kernel frees a segment with
// its last descriptor and mapping. The size of a segment is sealed: no peer can
// shrink it, which would kill a reader by SIGBUS. Reading bytes of a closed
// segment also kills the process. So close a segment only when nothing can use
// it any more, which is usually at the end of the process.
package shm
