//go:build nvidia

package device

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/cuda/driver"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

// end is a comm.DeviceEnd. end shares buckets by CUDA IPC: other processes open this process's buckets, and this
// process opens theirs.
//
// Events order the work of several processes: each process's streams wait for the other processes' events. The
// event given is recorded after the last kernel of a bucket, before the process sends its push or its group
// operation. The event done is recorded after a peer's work on the bucket, before the peer answers. These messages
// are necessary for correctness. A stream that waits for an event waits only for its latest recording at that time,
// and not at all if there was none. Both events of a bucket are recorded again only in the bucket's next round.
// That round begins after all processes have waited for the events of this round.
type end struct {
	device *Device
	specs  []tensor.BucketSpec
	lent   bool            // has its own buckets; false on a server
	lane   *Lane           // lane for sums; nil on a server, whose work uses its own lanes
	timer  *Timer          // timer of the lane
	series *sdk.Series     // measurements of sums; nil before Device.Measure
	given  []*driver.Event // events by bucket; empty on a server
	done   []*driver.Event // by bucket
	caught *driver.Event   // recorded after the work that lane has so far
	waits  []bool          // by bucket: whether it was given since the last AwaitShared
	within []int64         // by bucket: iteration in which it was given
	offer  []byte
	peers  []*peer
	sums   [][]float32          // by bucket: sum of the rows; nil for a dense bucket
	places [][]*Transfer[int32] // by bucket and rank: positions of the rank's rows in the sum

	mu     sync.Mutex
	closed bool
}

// peer holds the objects that this process has opened from another process.
type peer struct {
	memory      []driver.Pointer
	given, done []*driver.Event
}

// offer is the message by which another process opens objects. Handles come from the driver.
type offer struct {
	Device string   `json:"device"` // UUID of the device
	Memory [][]byte `json:"memory"` // by bucket
	Given  [][]byte `json:"given"`
	Done   [][]byte `json:"done"`
}

// leastSharing is the oldest driver version that may share buckets. Older drivers can deadlock on events of other
// processes.
var leastSharing = driver.Version{Major: 11, Minor: 2}

// Join implements comm.Device. Each lent bucket must be a whole allocation of Alloc, because a handle refers to a
// whole allocation.
func (d *Device) Join(specs []tensor.BucketSpec, lent []*tensor.Bucket) (comm.DeviceEnd, error) {
	if v := d.info.DriverVersion; v.Before(leastSharing) {
		return nil,
			fmt.Errorf("the driver serves CUDA %v, and before %v it can deadlock on events of other processes: update it to share buckets",
				v, leastSharing)
	}
	e := &end{device: d, specs: specs, lent: lent != nil, sums: make([][]float32, len(specs)),
		places: make([][]*Transfer[int32], len(specs))}
	o := offer{Device: d.info.UUID}
	for _, b := range lent {
		handle, err := d.context.ExportMemory(pointer(tensor.Float32Bytes(b.Gradient.Values[:cap(b.Gradient.Values)])))
		if err != nil {
			return nil, err
		}
		o.Memory = append(o.Memory, handle[:])
	}
	var err error
	if e.done, o.Done, err = d.newMarks(len(specs)); err != nil {
		return nil, err
	}
	if e.lent {
		if e.given, o.Given, err = d.newMarks(len(specs)); err != nil {
			return nil, err
		}
		if err := e.openSums(); err != nil {
			return nil, err
		}
	}
	if e.offer, err = json.Marshal(o); err != nil {
		return nil, err
	}
	d.keep(e)
	d.join(e)
	return e, nil
}

// join registers an end with AwaitShared.
func (d *Device) join(e *end) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ends = append(d.ends, e)
}

// newMarks returns n events that other processes can open.
func (d *Device) newMarks(n int) (marks []*driver.Event, handles [][]byte, err error) {
	for range n {
		mark, err := d.NewEvent(driver.EventOptions{Interprocess: true})
		if err != nil {
			return nil, nil, err
		}
		handle, err := d.context.ExportEvent(mark)
		if err != nil {
			return nil, nil, err
		}
		marks, handles = append(marks, mark), append(handles, handle[:])
	}
	return marks, handles, nil
}

// Offer implements comm.DeviceEnd.
func (e *end) Offer() []byte { return e.offer }

// Import implements comm.DeviceEnd.
func (e *end) Import(_ int, text []byte) ([][]float32, error) {
	var o offer
	if err := json.Unmarshal(text, &o); err != nil {
		return nil, fmt.Errorf("an offer is none: %w", err)
	}
	if own := e.device.info.UUID; o.Device != own {
		return nil, fmt.Errorf("they are on different devices, %s and %.64q", own, o.Device)
	}
	for _, n := range []int{len(o.Memory), len(o.Given), len(o.Done)} {
		if n != 0 && n != len(e.specs) {
			return nil, fmt.Errorf("an offer has %d buckets but the store has %d", n, len(e.specs))
		}
	}
	p := &peer{}
	e.peers = append(e.peers, p) // appended first, so that Close closes everything opened before an error
	values, err := e.openMemory(p, o.Memory)
	if err != nil {
		return nil, err
	}
	if p.given, err = e.openMarks(o.Given); err != nil {
		return nil, err
	}
	if p.done, err = e.openMarks(o.Done); err != nil {
		return nil, err
	}
	if !e.lent {
		e.device.lend(e, p, values)
		return values, nil
	}
	return values, e.openPlaces()
}

func (e *end) openMemory(p *peer, handles [][]byte) (values [][]float32, err error) {
	c := e.device.context
	for i, h := range handles {
		memory, err := c.ImportMemory(handleOf(h))
		if err != nil {
			return nil, err
		}
		p.memory = append(p.memory, memory)
		bytes, err := c.SizeOf(memory)
		if room := 4 * e.specs[i].Room(); err == nil && bytes < room {
			err = fmt.Errorf("an allocation of %d bytes is offered for bucket %d, which takes %d", bytes, i, room)
		}
		if err != nil {
			return nil, err
		}
		values = append(values, tensor.ViewFloat32(at(memory, 4*e.specs[i].Room())))
	}
	return values, nil
}

func (e *end) openMarks(handles [][]byte) (marks []*driver.Event, err error) {
	for _, h := range handles {
		mark, err := e.device.context.ImportEvent(handleOf(h))
		if err != nil {
			return nil, err
		}
		e.device.keep(closer(mark.Destroy))
		marks = append(marks, mark)
	}
	return marks, nil
}

func handleOf(text []byte) (handle [64]byte) {
	copy(handle[:], text)
	return handle
}

// Give implements comm.DeviceEnd. The compute stream already has the work that fills the bucket.
func (e *end) Give(bucket int) error {
	e.waits[bucket], e.within[bucket] = true, e.device.clock.turns.Load()
	return e.given[bucket].Record(e.device.compute.Stream)
}

// AwaitShared implements engine.Sharer: the compute stream waits for the buckets handed over since the last call.
// The goroutine that hands over buckets must call it.
func (d *Device) AwaitShared() error {
	d.Begin(Exchange)
	s := d.compute.Stream
	for _, e := range d.ends {
		for b, waits := range e.waits {
			if !waits {
				continue
			}
			for _, p := range e.peers {
				if err := s.Wait(p.done[b]); err != nil {
					return err
				}
			}
			e.waits[b] = false
		}
		if e.lane != nil {
			if err := errors.Join(e.caught.Record(e.lane.Stream), s.Wait(e.caught)); err != nil {
				return err
			}
		}
	}
	d.End(Exchange)
	return d.across.failure()
}

// Close implements comm.DeviceEnd. Close waits for all work of the process, because some may use the memory that
// Close closes.
func (e *end) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil
	}
	e.closed = true
	err := e.device.drain()
	e.device.mu.Lock()
	for p, loan := range e.device.loans {
		if loan.end == e {
			delete(e.device.loans, p)
		}
	}
	e.device.mu.Unlock()
	for _, p := range e.peers {
		for _, memory := range p.memory {
			err = cmp.Or(err, e.device.context.CloseImported(memory))
		}
	}
	return err
}

// openSums creates the objects for sums.
func (e *end) openSums() (err error) {
	d := e.device
	e.waits, e.within = make([]bool, len(e.specs)), make([]int64, len(e.specs))
	if d.clock.recorder != nil {
		e.series = d.clock.recorder.Series(DeviceMetric, "device sum")
	}
	if e.lane == nil {
		if e.lane, e.timer, err = d.newTimedLane(); err != nil {
			return err
		}
	}
	if e.caught, err = d.NewEvent(driver.EventOptions{}); err != nil {
		return err
	}
	for i := range e.specs {
		if !e.specs[i].Sparse {
			continue
		}
		if e.sums[i], err = engine.Floats(d, e.specs[i].Room()); err != nil {
			return err
		}
	}
	return e.openPlaces()
}

// openPlaces allocates memory for the row positions of one more rank.
func (e *end) openPlaces() error {
	for i := range e.specs {
		if !e.specs[i].Sparse {
			continue
		}
		t, err := NewTransfer[int32](e.device, e.lane)
		if err != nil {
			return err
		}
		e.places[i] = append(e.places[i], t)
	}
	return nil
}
