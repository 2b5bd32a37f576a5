// Package shared makes links through memory that the ranks of one host map. Package serverlink links trainers
// to their servers, package group links trainers to each other. Package layout places things in the segments.
//
// Buckets live in a segment of their owner (Store), which its neighbours
// map. A push stores a sequence number into a slot and looks at the server's
// bell. In place: the server works directly on the trainers' gradients. In a group each
// member sums its share of all members' buckets and writes the sum into all of them. It does so in place, or
// chunk by chunk in slots where a gradient lies outside the store. The servers of tables write the columns
// that a trainer looks up into its LookupStore.
//
// Where both ends share the memory of a device (comm.Device), values of buckets may stay there (package lent). Slots,
// sequences and bells work as for other buckets, and rows are in the segment, but this package
// reads and writes no value. A rank hands over the right to give the device work on the bucket.
//
// The memory model, for a gradient in flight:
//
//   - A slot is a cache line in the control segment of the process that uses it.
//     Between pushed == answered and the next push the trainer owns the slot and
//     the gradient, from then on until the answer the server does. In a group
//     they belong to all members from the post until the last has ended.
//   - The giver writes gradient and slot with plain stores and then the sequence
//     atomically (release). The taker loads the sequence atomically (acquire) and
//     only then reads the rest.
//   - A push in pieces hands over the room of one piece at a time, by counts that work as
//     sequences do (layout.PieceLine). The server owns the slot until the answer, but only the
//     trainer touches the gradient.
//   - The ringer stores the sequence before it looks at the bell. The sleeper announces
//     itself before it looks at sequences for the last time. Go's atomics are
//     sequentially consistent, so one of the two sees the other.
//   - A rank trusts nothing that a neighbour writes. It reads places and counts once.
//     It copies rows and bags, checks the copy, and uses only the copy: in sums,
//     answers, optimizers and tables. Values may change under a reader: then a sum
//     is wrong, but no access is invalid.
//   - A deadline or a dead peer poisons a link for good. After that the link reads
//     and writes no slot and unmaps nothing: a neighbour that is only slow may
//     still write.
//
// The race detector knows addresses of one process. It sees two goroutines that
// misuse a store, and it sees the locks and atomics here; it cannot see another
// process, nor that two mappings are the same memory.
package shared
