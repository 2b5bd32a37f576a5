// Package shared makes links through memory that the ranks of one host map.
// Package serverlink links trainers to their servers; package group links
// trainers to each other. Package layout defines the data structures in the
// segments.
//
// Each rank's buckets live in a segment (Store), which its peers map. A push
// stores a sequence number into a slot and then checks whether to ring the
// server's bell. In a push in place, the server works directly on the trainers'
// gradients.
//
// In a group, each member sums its share of all members' buckets and writes the
// sum into all of them. Members sum in place, or chunk by chunk through slots
// if a gradient lies outside the store. The servers of tables write a trainer's
// columns into its LookupStore.
//
// If both ends share a device's memory (comm.Device), bucket values may stay
// there (package lent). Slots, sequences and bells work as for other buckets,
// and rows are in the segment, but this package reads and writes no value. To
// hand over a bucket, a rank hands over the right to start device work on it.
//
// The memory model, for a gradient in flight:
//
//   - A slot is a cache line in the control segment of the process that uses
//     it. The trainer owns the slot and the gradient from pushed == answered
//     until the next push. The server owns them from the push until the answer.
//     In a group all members own them from the post until the last member has
//     ended.
//   - The giver writes gradient and slot with plain stores and then stores the
//     sequence atomically (release). The taker loads the sequence atomically
//     (acquire) and only then reads the rest.
//   - A push in pieces hands over the memory of one piece at a time, by counts
//     that work like sequences (layout.PieceLine). The server owns the slot
//     until the answer, but only the trainer touches the gradient.
//   - The ringer stores the sequence before it checks the bell. The sleeper
//     announces itself before it checks the sequences for the last time. Go's
//     atomics are sequentially consistent, so one of the two sees the other.
//   - A rank trusts nothing that a peer writes. A rank reads places and counts
//     once. A rank copies rows and bags, checks the copy, and uses only the
//     copy in sums, answers, optimizers and tables. If a peer changes values
//     while a rank reads them, the sum is wrong, but no access is invalid.
//   - A deadline or a dead peer ends a link for good. Afterwards the link reads
//     and writes no slot and unmaps nothing, because a slow peer may still
//     write.
//
// The race detector only knows the addresses of one process. The detector finds
// two goroutines that misuse a store, and it sees the locks and atomics here.
// The detector cannot see another process, or that two mappings are the same
// memory.
package shared
