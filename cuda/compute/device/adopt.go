//go:build nvidia

package device

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"unsafe"
)

// adoption is host memory that the device copies to and from without help of the processor. If possible, the driver
// pins the memory. Otherwise, copies go through separate pinned memory of the same size.
type adoption struct {
	device *Device
	host   []byte
	beside []byte // pinned memory for copies; nil if host itself is pinned
}

// Adopt implements engine.Engine. Adopt pins only whole pages, because pinning part of a page would also pin
// unrelated memory in that page.
func (d *Device) Adopt(host []byte) (io.Closer, error) {
	if len(host) == 0 {
		return nil, nil //nolint:nilnil // there is nothing to undo
	}
	a := &adoption{device: d, host: host}
	refused := notPinned(len(host))
	if len(pages(host)) == len(host) {
		refused = d.register(host)
	}
	if refused != nil {
		var err error
		if a.beside, err = d.context.AllocHost(len(host)); err != nil {
			return nil, fmt.Errorf("%w, and there is no pinned memory to copy through: %w", refused, err)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.adopted = append(d.adopted, a)
	d.refused = cmp.Or(d.refused, refused)
	return a, nil
}

// Pin pins the pages of memory that a part copies to and from on its own lanes. The pages must hold nothing else
// that the part copies. Pin returns nil if it cannot pin the memory. The part then copies through memory of
// AllocHost: a direct copy would block the host, and would fail if one of its pages is pinned.
func (d *Device) Pin(host []byte) io.Closer {
	a := &adoption{device: d, host: pages(host)}
	err := d.register(a.host)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil {
		d.refused = cmp.Or(d.refused, err)
		return nil
	}
	d.adopted = append(d.adopted, a)
	return a
}

// AllocHost allocates pinned host memory. The device frees it when it is closed.
func (d *Device) AllocHost(bytes int) ([]byte, error) {
	host, err := d.context.AllocHost(bytes)
	if err == nil {
		d.keep(closer(func() error { return d.context.FreeHost(host) }))
	}
	return host, err
}

// register lets the driver pin whole pages. The pages must be shared memory. Go's own memory is not suitable: the
// Go runtime may release and reuse it without notifying the driver.
func (d *Device) register(host []byte) error {
	shared, readOnly := mapped(host)
	if !shared {
		return notPinned(len(host))
	}
	return d.context.Register(host, readOnly)
}

func notPinned(bytes int) error {
	return fmt.Errorf("%d bytes are not whole pages of shared memory, which alone are pinned", bytes)
}

// pages returns the pages that contain memory.
func pages(memory []byte) []byte {
	page := os.Getpagesize()
	before := int(start(memory) % uintptr(page)) // #nosec G115 -- below a page
	size := (before + len(memory) + page - 1) / page * page
	return unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(memory)), -before)), size) // #nosec G103 -- pages are mapped whole
}

// Close implements io.Closer. Close waits for all work, because copies may still use the memory.
func (a *adoption) Close() error {
	d := a.device
	err := d.drain()
	d.mu.Lock()
	i := slices.Index(d.adopted, a)
	if i >= 0 {
		d.adopted = slices.Delete(d.adopted, i, i+1)
	}
	d.mu.Unlock()
	if i < 0 {
		return err // the device was closed first
	}
	return cmp.Or(err, a.release())
}

func (a *adoption) release() error {
	if a.beside != nil {
		return a.device.context.FreeHost(a.beside)
	}
	return a.device.context.Unregister(a.host)
}

// pinned returns the pinned memory for copies of host, or nil if copies are direct.
func (d *Device) pinned(host []byte) []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.refused == nil {
		return nil
	}
	for _, a := range d.adopted {
		if from := offset(a.host, host); from >= 0 && a.beside != nil {
			return a.beside[from : from+len(host)]
		}
	}
	return nil
}

// offset returns the position of x within whole, in bytes. offset is negative if x is not part of whole.
func offset(whole, x []byte) int {
	from, address := start(whole), start(x)
	if address < from || address+uintptr(len(x)) > from+uintptr(len(whole)) {
		return -1
	}
	return int(address - from)
}

func start(x []byte) uintptr {
	return uintptr(unsafe.Pointer(unsafe.SliceData(x))) // #nosec G103 -- addresses are compared
}

// mapped reports whether memory lies in shared mappings of the process, according to /proc/self/maps, and whether
// one of them is read-only.
func mapped(memory []byte) (shared, readOnly bool) {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return false, false
	}
	return mappedBy(string(maps), start(memory), start(memory)+uintptr(len(memory)))
}

// mappedBy looks up addresses in maps, the contents of /proc/self/maps. Its lines are in the order of addresses. A
// line begins with a range and its permissions: 7f00-8000 r--s.
func mappedBy(maps string, from, to uintptr) (shared, readOnly bool) {
	at := uint64(from)
	for line := range strings.Lines(maps) {
		span, rest, _ := strings.Cut(line, " ")
		low, high, _ := strings.Cut(span, "-")
		begins, err1 := strconv.ParseUint(low, 16, 64)
		ends, err2 := strconv.ParseUint(high, 16, 64)
		if err1 != nil || err2 != nil || ends <= at {
			continue
		}
		if begins > at || len(rest) < 4 || rest[3] != 's' {
			return false, false
		}
		readOnly = readOnly || rest[1] != 'w'
		if at = ends; at >= uint64(to) {
			return true, readOnly
		}
	}
	return false, false
}
