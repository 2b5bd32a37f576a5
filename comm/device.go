package comm

import (
	"time"

	"github.com/psbench/psbench/comm/tensor"
)

// Device is an engine whose memory Go cannot touch. Bucket values stay in
// device memory while the ranks of one device reduce them. Links carry
// everything else: bucket, batch, the rows of a sparse bucket, waits and
// faults.
//
// Before a rank hands a bucket over, it puts a mark behind its work on the
// device. The rank that takes the bucket over makes the device wait for that
// mark before the rank's own work; no process waits for the device.
type Device interface {
	// Join returns a rank's end of a link. lent are the rank's buckets in
	// device memory, in the order of specs; peers import them. A server passes
	// nil. The error says why the device cannot be shared.
	Join(specs []tensor.BucketSpec, lent []*tensor.Bucket) (DeviceEnd, error)
}

// DeviceEnd is a rank's end of a link whose buckets lie in a device's memory.
// DeviceEnd numbers buckets by their places among the specs. One goroutine at a
// time calls Sum, SumRows and TakeRows.
type DeviceEnd interface {
	// Offer returns the engine's handle of the lent buckets. Peers pass it to
	// Import.
	Offer() []byte
	// Import opens the offer of the peer at a position and returns the values
	// of the peer's buckets, each with the capacity of its spec. Import returns
	// nil if the peer lends none. The error says why the two cannot share; its
	// text continues a sentence that begins with the peer's name.
	Import(position int, offer []byte) ([][]float32, error)
	// Give puts the mark that hands over this rank's bucket.
	Give(bucket int) error
	// Sum replaces every part of a bucket by the sum of the parts, added in their order. All ranks,
	// this one included, have handed their part over. mean divides the sum by the number of parts.
	Sum(bucket int, parts [][]float32, mean bool) error
	// SumRows sums all gradients, row by row for the rows in union, which
	// contains every row of the gradients. After all ranks have called SumRows,
	// TakeRows copies the result to sum, which has room for the rows.
	SumRows(bucket int, gradients []*tensor.Gradient, union []int32, mean bool) error
	TakeRows(bucket int, sum []float32) error
	// Close waits for the end's work on the device and closes its imports. Closing again does nothing.
	Close() error
}

// Spanner is a Device for a group whose members each have a device of their
// own. A library reduces the members' buckets across the devices. If the
// library fails, the group fails too: it does not fall back to staging. If any
// member lends no buckets, all members stage theirs.
type Spanner interface {
	Device
	// Library names the library that spans the devices, with its version.
	Library() string
}

// SpanningEnd is a Spanner's end of a group across devices. Import returns no
// values, since a peer's values lie on the peer's device. Sum and SumRows take
// only the member's own gradient. All members call them for the same buckets;
// each member may hand its buckets over in any order.
type SpanningEnd interface {
	DeviceEnd
	// Span joins the members and waits for them until the timeout. The group calls it once, when all
	// members have imported all offers. The timeout also bounds each sum, from its start on the device.
	// members are names in the order of positions.
	Span(members []string, position int, timeout time.Duration) error
	// Abort ends the group's work on the device, which may be waiting for
	// members that are gone.
	Abort()
}

// DeviceLink is implemented by links, ports and groups that can leave values in a device's memory.
type DeviceLink interface {
	// Staged says why values leave the device's memory, or "" if they stay
	// there. A port answers for the trainer at the position; other links answer
	// for all their peers.
	Staged(position int) string
	// Library names the library that reduces values across the devices of a group, with its version;
	// "" without one.
	Library() string
	// Release ends the use of peers' device memory. Then it waits, until the
	// timeout, for the peers to stop using this rank's device memory. The rank
	// may free that memory afterwards. Call it before Close, with nothing
	// pending.
	Release(timeout time.Duration) error
}
