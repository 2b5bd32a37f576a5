package comm

import (
	"time"

	"github.com/psbench/psbench/comm/tensor"
)

// Device is what links ask of an engine whose memory Go cannot touch: so the values of buckets stay
// in it while ranks of one device reduce them. Links carry everything else as ever: which bucket of
// which batch, the rows of a sparse one, who waits for whom, and faults. Who hands a bucket over puts
// a mark behind what it has given the device before its neighbours hear of it; who takes it over has
// its own work wait for that mark on the device, and nobody waits for the device itself.
type Device interface {
	// Join makes a rank's end of a link. lent are its own buckets in the device's memory, in the order
	// of specs, which peers import; nil on a server, which has none. The error says why the device
	// cannot be shared.
	Join(specs []tensor.BucketSpec, lent []*tensor.Bucket) (DeviceEnd, error)
}

// DeviceEnd is a rank's end of a link whose buckets lie in a device's memory. Numbers of buckets are
// places among the specs. One goroutine at a time calls Sum, SumRows and TakeRows.
type DeviceEnd interface {
	// Offer is what peers import, in words of the engine's own.
	Offer() []byte
	// Import opens what a peer at some position offers, and gives the values of its buckets, each with
	// room for all that its spec may have; nil of a peer that lends none. The error says why the two
	// cannot share, in words that follow the peer's name.
	Import(position int, offer []byte) ([][]float32, error)
	// Give marks that this rank hands a bucket over.
	Give(bucket int) error
	// Sum has all parts become their sum, in their order: parts of a bucket that all ranks have
	// handed over, this one among them. mean divides it by their number.
	Sum(bucket int, parts [][]float32, mean bool) error
	// SumRows sums the rows of all gradients over union, which has them all. TakeRows makes sum, which
	// has room for them, that sum, once all ranks have called SumRows.
	SumRows(bucket int, gradients []*tensor.Gradient, union []int32, mean bool) error
	TakeRows(bucket int, sum []float32) error
	// Close waits for the end's work on the device, and closes what it has imported. Closing again does
	// nothing.
	Close() error
}

// Spanner is a Device whose ends span the devices of a group's members, each of which has one of its own:
// a library of the devices' reduces their buckets. Where it fails there is no group, and nothing is staged in its
// place; where a member lends no buckets, all stage theirs.
type Spanner interface {
	Device
	// Library is what spans the devices, with its version.
	Library() string
}

// SpanningEnd is an end of a group across devices, which a Spanner gives. Import gives no values, since a
// peer's lie on its own device: Sum and SumRows are given the own gradient alone, and all members call
// them for the same bucket, in whatever order each hands buckets over.
type SpanningEnd interface {
	DeviceEnd
	// Span comes once, when all members have imported all offers: it joins them, and waits for them until
	// the timeout. That bounds each sum as well, from when it is given to the device. Names and numbers
	// are those of members in the order of their positions.
	Span(members []string, position int, timeout time.Duration) error
	// Abort ends what the device still does for the group, which waits for members that may be gone.
	Abort()
}

// DeviceLink is implemented by links, ports and groups that can leave values in a device's memory.
type DeviceLink interface {
	// Staged says why values are not left there, "" if they are. A port says it of a trainer, by its
	// position, others of all their peers.
	Staged(position int) string
	// Library is what reduces values across the devices of a group, with its version; "" where nothing does.
	Library() string
	// Release ends the use of peers' device memory, and waits, until the timeout, for the peers to end
	// that of this rank's, which may be freed then. It comes before Close, once nothing is pending.
	Release(timeout time.Duration) error
}
