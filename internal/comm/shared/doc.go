// Package shared makes links of memory that ranks of one host map: package serverlink those of trainers
// to their servers, package group those of a group. Package layout has what lies where in the segments.
//
// Buckets live in a segment of their owner (Store), which its neighbours
// map. A push stores a sequence number into a slot and looks at the server's
// bell; the server reads and writes the gradient where it is. In a group each
// member sums its share of everybody's buckets into all of them, in place or, where some lie
// elsewhere, chunk by chunk in slots. The servers of tables write the columns that a trainer
// looks up into its LookupStore.
//
// Where both ends share the memory of a device (comm.Device), values of buckets may stay there (package lent): slots,
// sequences and bells say of them what they say of all others, and rows are in the segment, but nobody here
// reads or writes a value. What is handed over is the right to give the device work on it.
//
// The memory model, for a gradient in flight:
//
//   - A slot is a cache line in the control segment of the process that uses it.
//     Between pushed == answered and the next push the trainer owns the slot and
//     the gradient, from then on until the answer the server does. In a group
//     they belong to all members from the post until the last has ended.
//   - Who hands over writes gradient and slot with plain stores and then the
//     sequence atomically (release). Who takes over loads the sequence atomically
//     (acquire) and only then reads the rest.
//   - A push in pieces hands over the room of one piece at a time, by counts that work as
//     sequences do (layout.PieceLine); slot and gradient are the server's as ever until the
//     answer, but the gradient itself only the trainer touches.
//   - A bell is looked at after the sequence was stored, and a sleeper announces
//     itself before it looks at sequences for the last time. Go's atomics are
//     sequentially consistent, so one of the two sees the other.
//   - Nothing that a neighbour writes is trusted. Places and counts are read once.
//     Rows and bags are copied, the copy is checked, and only the copy is used: in
//     sums, answers, optimizers and tables. Values may change under a reader, which
//     makes a sum wrong and no access.
//   - A deadline or a dead peer poisons a link for good. After that no slot is
//     read or used again, and nothing is unmapped: a neighbour that is only slow
//     may still write.
//
// The race detector knows addresses of one process. It sees two goroutines that
// misuse a store, and it sees the locks and atomics here; it cannot see another
// process, nor that two mappings are the same memory.
package shared
