package comm

import (
	"time"

	"github.com/psbench/psbench/comm/tensor"
)

// Device is an engine whose memory Go cannot touch. The values of buckets stay in it while the ranks
// of one device reduce them. Links carry everything else: bucket, batch, the rows of a sparse bucket,
// waits and faults. A rank that hands a bucket over first puts a mark behind its work on the device.
// A rank that takes it over has the device wait for the mark before its own work; no process waits for
// the device.
type Device interface {
	// Join returns a rank's end of a link. lent are the rank's buckets in the device's memory, in the
	// order of specs, for peers to import; it is nil on a server. The error says why the device cannot
	// be shared.
	Join(specs []tensor.BucketSpec, lent []*tensor.Bucket) (DeviceEnd, error)
}

// DeviceEnd is a rank's end of a link whose buckets lie in a device's memory. It numbers buckets by
// their places among the specs. One goroutine at a time calls Sum, SumRows and TakeRows.
type DeviceEnd interface {
	// Offer returns the engine's handle of the lent buckets, for Import of the peers.
	Offer() []byte
	// Import opens the offer of the peer at a position and returns the values of its buckets, each with
	// the capacity of its spec. It returns nil if the peer lends none. The error says why the two cannot
	// share, in words that follow the peer's name.
	Import(position int, offer []byte) ([][]float32, error)
	// Give puts the mark at which this rank hands a bucket over.
	Give(bucket int) error
	// Sum replaces every part of a bucket by the sum of the parts, added in their order. All ranks,
	// this one included, have handed their part over. mean divides the sum by the number of parts.
	Sum(bucket int, parts [][]float32, mean bool) error
	// SumRows sums the rows of all gradients over union, which has all of their rows. TakeRows copies
	// the sum to sum once all ranks have called SumRows; sum has room for the rows.
	SumRows(bucket int, gradients []*tensor.Gradient, union []int32, mean bool) error
	TakeRows(bucket int, sum []float32) error
	// Close waits for the end's work on the device and closes its imports. Closing again does nothing.
	Close() error
}

// Spanner is a Device whose ends span the devices of a group's members. Each member has a device of its own, and
// the devices' library reduces their buckets. If the library fails, the group fails too: it does not fall back to
// staging. If a member lends no buckets, all members stage theirs.
type Spanner interface {
	Device
	// Library names the library that spans the devices, with its version.
	Library() string
}

// SpanningEnd is a Spanner's end of a group across devices. Import returns no values, since a peer's lie on its
// own device. Sum and SumRows take the member's own gradient alone. All members call them for the same buckets;
// each member may hand its buckets over in any order.
type SpanningEnd interface {
	DeviceEnd
	// Span joins the members and waits for them until the timeout. The group calls it once, when all
	// members have imported all offers. The timeout also bounds each sum, from its start on the device.
	// members are names in the order of positions.
	Span(members []string, position int, timeout time.Duration) error
	// Abort ends the group's work on the device, which may wait for members that are gone.
	Abort()
}

// DeviceLink is implemented by links, ports and groups that can leave values in a device's memory.
type DeviceLink interface {
	// Staged says why values do not stay there, "" if they do. A port answers for the trainer at the
	// position, other links for all their peers.
	Staged(position int) string
	// Library names the library that reduces values across the devices of a group, with its version;
	// "" without one.
	Library() string
	// Release ends the use of peers' device memory. Then it waits, until the timeout, for the peers to
	// stop using this rank's, which the rank may free afterwards. Call it before Close, with nothing
	// pending.
	Release(timeout time.Duration) error
}
