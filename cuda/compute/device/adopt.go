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

// adoption is memory of the host that the device copies from and to without help of the processor:
// pinned where the driver does that, else beside pinned memory as large, through which its copies go.
type adoption struct {
	device *Device
	host   []byte
	beside []byte // nil where host is pinned itself
}

// Adopt implements engine.Engine. Memory that a map shows read-only is pinned as such.
func (d *Device) Adopt(host []byte) (io.Closer, error) {
	if len(host) == 0 {
		return nil, nil //nolint:nilnil // there is nothing to undo
	}
	a := &adoption{device: d, host: host}
	refused := d.context.Register(host, readOnly(host))
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

// Pin pins memory of the host that a part copies from and to on lanes of its own. nil is what the driver
// refuses, whose copies are right but wait for each other.
func (d *Device) Pin(host []byte) io.Closer {
	a := &adoption{device: d, host: host}
	err := d.context.Register(host, readOnly(host))
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil {
		d.refused = cmp.Or(d.refused, err)
		return nil
	}
	d.adopted = append(d.adopted, a)
	return a
}

// Close implements io.Closer. It waits for all work, whose copies may be from or to the memory.
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
		return err // the device was closed before
	}
	return cmp.Or(err, a.release())
}

func (a *adoption) release() error {
	if a.beside != nil {
		return a.device.context.FreeHost(a.beside)
	}
	return a.device.context.Unregister(a.host)
}

// pinned is the pinned memory through which copies of host go; nil where they go straight.
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

// offset is how many bytes behind the beginning of whole x begins; below 0 if it does not lie in it.
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

// readOnly says that memory lies in a map of the process that may not be written, as
// /proc/self/maps has it: without it memory counts as writable.
func readOnly(memory []byte) bool {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return false
	}
	return readOnlyIn(string(maps), start(memory))
}

// readOnlyIn looks an address up in maps, whose lines begin as 7f00-8000 r--p.
func readOnlyIn(maps string, address uintptr) bool {
	for line := range strings.Lines(maps) {
		span, rest, _ := strings.Cut(line, " ")
		low, high, _ := strings.Cut(span, "-")
		from, err1 := strconv.ParseUint(low, 16, 64)
		to, err2 := strconv.ParseUint(high, 16, 64)
		if err1 == nil && err2 == nil && from <= uint64(address) && uint64(address) < to {
			return strings.HasPrefix(rest, "r-")
		}
	}
	return false
}
