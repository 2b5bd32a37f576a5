// Package shm is shared memory between the processes of one host: segments,
// the passing of their descriptors, and bells to wait at.
//
// # Who may write what, and when
//
// A segment has one owner. Its neighbours map it as well, to read, or to read
// and write. A payload (values, rows, samples) has one writer at a time, and
// every payload has a word that says whose turn it is: a sequence number, say.
//
//   - The writer fills the payload with plain stores and then stores the word
//     with a sync/atomic operation. That is the release: a reader that sees the
//     word sees the payload.
//   - The reader loads the word with a sync/atomic operation, and only once it
//     has the awaited value, the payload with plain loads. That is the acquire.
//   - The payload belongs to the reader from then on, until the reader hands it
//     back by another word. A process touches a payload only on its turn.
//   - A word is written by one process, or by operations that combine (Add,
//     CompareAndSwap). Words that different processes write lie in different
//     cache lines (64 bytes), or the line travels at every store.
//
// Go's atomics are sequentially consistent. Between processes that holds as
// within one: the operations are single instructions on the same physical
// memory. A [Bell] needs it, see there. In a build with the race detector, stores
// to a segment only release: a store followed by a load of another word, where
// each side must see the other, works through a Bell or with Add and Swap alone.
//
// Data that a neighbour wrote is input: a count, an offset or a row number from
// a segment may be anything, and may change between two loads. So load it once,
// check the loaded copy, and use the copy.
//
// # What the race detector sees
//
// The detector follows Go's own memory and the threads of one process. It does
// not see other processes, and it ignores a segment even within one: a race on
// the bytes of a segment goes unreported, and an atomic operation on a word of a
// segment orders nothing in its books. Hence two rules. Protocols are also tested
// on memory of the Go heap, where it does see them. And heap memory that several
// goroutines share is guarded by heap words, mutexes or channels, never by a word
// of a segment alone, or it reports a race that is none.
//
// # Life of a segment
//
// A segment is a memfd. It has no name in any file system, so nothing stays
// behind however its processes end; the kernel frees it with its last
// descriptor and mapping. Its size is sealed: no neighbour can shrink it under
// a reader, which would end that reader by SIGBUS. Reading bytes of a closed
// segment ends the process, so a segment is closed when nothing can use it any
// more, which usually is at the end of the process.
package shm
