//go:build nvidia

package device

import (
	"unsafe"

	"github.com/psbench/psbench/cuda/driver"
	"github.com/psbench/psbench/sdk/engine"
)

// Element is a type that kernels exchange with ordinary memory.
type Element interface{ float32 | int32 | int64 }

// Transfer copies a part's numbers between ordinary memory and the device, on the part's lane and through its own
// pinned memory. Transfer copies indices, targets and features to the device, and losses back. The memory grows to
// the largest transfer and is then reused. One goroutine uses a Transfer, the goroutine of its lane.
type Transfer[T Element] struct {
	device *Device
	lane   *Lane
	host   []byte // pinned
	memory []byte // on the device, same size as host
	ended  *driver.Event
}

// NewTransfer returns a transfer. The device closes it.
func NewTransfer[T Element](d *Device, l *Lane) (*Transfer[T], error) {
	e, err := d.NewEvent(driver.EventOptions{BlockingSync: true})
	if err != nil {
		return nil, err
	}
	t := &Transfer[T]{device: d, lane: l, ended: e}
	d.keep(t)
	return t, nil
}

// Room returns pinned memory for n numbers, which Send copies to the device. If the previous copy is still running,
// Room waits for it.
func (t *Transfer[T]) Room(n int) ([]T, error) {
	if err := t.ended.Synchronize(); err != nil {
		return nil, err
	}
	if err := t.grow(n * t.bytes()); err != nil {
		return nil, err
	}
	return elements[T](t.host, n), nil
}

// Send gives the lane a copy of the first n numbers of Room. Send returns their place on the device, which is valid
// for later work of the lane until the next Room.
func (t *Transfer[T]) Send(n int) ([]T, error) {
	bytes := n * t.bytes()
	t.begin(TransferIn)
	if err := t.lane.Stream.CopyIn(pointer(t.memory), unsafe.Pointer(unsafe.SliceData(t.host)), bytes); err != nil { // #nosec G103 -- the driver takes addresses
		return nil, err
	}
	t.end(TransferIn)
	return elements[T](t.memory, n), t.ended.Record(t.lane.Stream)
}

// Put calls Room and Send for numbers.
func (t *Transfer[T]) Put(numbers []T) ([]T, error) {
	room, err := t.Room(len(numbers))
	if err != nil {
		return nil, err
	}
	copy(room, numbers)
	return t.Send(len(numbers))
}

// Locate sends the position of each row in union. union contains all rows; both lists ascend.
func Locate(t *Transfer[int32], rows, union []int32) ([]int32, error) {
	places, err := t.Room(len(rows))
	if err != nil {
		return nil, err
	}
	at := int32(0)
	for i, row := range rows {
		for union[at] != row {
			at++
		}
		places[i] = at
	}
	return t.Send(len(rows))
}

// Fetch copies numbers from the device on the lane and waits for them. The numbers are valid until the next call.
func (t *Transfer[T]) Fetch(memory []T) ([]T, error) {
	host, err := t.Room(len(memory))
	if err != nil {
		return nil, err
	}
	from := driver.Pointer(uintptr(unsafe.Pointer(unsafe.SliceData(memory)))) // #nosec G103 -- an address of the device
	t.begin(TransferOut)
	if err := t.lane.Stream.CopyOut(unsafe.Pointer(unsafe.SliceData(t.host)), from, len(memory)*t.bytes()); err != nil { // #nosec G103 -- the driver takes addresses
		return nil, err
	}
	t.end(TransferOut)
	if err := t.ended.Record(t.lane.Stream); err != nil {
		return nil, err
	}
	return host, t.ended.Synchronize()
}

// begin and end enclose a copy. The clock measures only the compute stream.
func (t *Transfer[T]) begin(p Phase) {
	if t.lane == t.device.compute {
		t.device.Begin(p)
	}
}

func (t *Transfer[T]) end(p Phase) {
	if t.lane == t.device.compute {
		t.device.End(p)
	}
}

// grow allocates memory for so many bytes, in powers of two.
func (t *Transfer[T]) grow(bytes int) error {
	if bytes <= len(t.memory) {
		return nil
	}
	size := 1024
	for size < bytes {
		size *= 2
	}
	if err := t.free(); err != nil {
		return err
	}
	var err error
	if t.host, err = t.device.context.AllocHost(size); err != nil {
		return err
	}
	t.memory, err = t.device.Alloc(engine.Int32, size/4)
	return err
}

func (t *Transfer[T]) free() error {
	if t.memory != nil {
		t.device.Free(t.memory)
		t.memory = nil
	}
	if t.host == nil {
		return nil
	}
	host := t.host
	t.host = nil
	return t.device.context.FreeHost(host)
}

// Close implements io.Closer. The device calls it.
func (t *Transfer[T]) Close() error { return t.free() }

func (t *Transfer[T]) bytes() int {
	var one T
	return int(unsafe.Sizeof(one))
}

// elements returns the first n elements of memory.
func elements[T Element](memory []byte, n int) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(memory))), n)[:n:n] // #nosec G103 -- aligned, since it begins an allocation
}
