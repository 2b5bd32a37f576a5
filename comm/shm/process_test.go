package shm

import (
	"encoding/binary"
	"errors"
	"net"
	"os"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/psbench/psbench/comm/internal/commtest"
)

// lent is what the helper's neighbour works on: more than the kernel copies at once.
var lent = make([]byte, 5<<20)

// helpLend says where its ordinary memory is, and at the end what is there.
func helpLend(c *net.UnixConn) error {
	for i := range lent {
		lent[i] = byte(i % 251)
	}
	if _, err := c.Write(binary.LittleEndian.AppendUint64(nil, uint64(uintptr(unsafe.Pointer(&lent[0]))))); err != nil {
		return err
	}
	if _, err := c.Read(make([]byte, 1)); err != nil {
		return err
	}
	_, err := c.Write(lent[len(lent)-100:])
	return err
}

// The memory of another process is read and written where it is; once the process has
// ended, neither is possible.
func TestProcessMemory(t *testing.T) {
	commtest.NeedsKernel(t, "process_vm_readv")
	h := start(t, "lend")
	var at [8]byte
	_, err := h.conn.Read(at[:])
	must(t, err)
	address := binary.LittleEndian.Uint64(at[:])
	p, err := OpenProcess(h.cmd.Process.Pid)
	must(t, err)
	defer func() { must(t, p.Close()) }()
	got := make([]byte, len(lent))
	if err := p.Read(got, address); errors.Is(err, unix.EPERM) {
		t.Skipf("the kernel does not allow it: %v", err)
	} else if err != nil {
		t.Fatal(err)
	}
	for i, b := range got {
		if b != byte(i%251) {
			t.Fatalf("byte %d is %d, want %d", i, b, i%251)
		}
	}
	must(t, p.Read(nil, address))
	must(t, p.Write(address, nil))
	must(t, p.Write(address+uint64(len(lent))-99, got[:99]))
	if err := p.Read(got[:8], 8); !errors.Is(err, unix.EFAULT) {
		t.Errorf("reading where nothing is gave %v", err)
	}
	if allocs := testing.AllocsPerRun(20, func() {
		must(t, p.Read(got[:100], address))
		must(t, p.Write(address, got[:100]))
	}); allocs != 0 {
		t.Errorf("a copy each way allocates %g times, want 0", allocs)
	}
	_, err = h.conn.Write([]byte{0})
	must(t, err)
	tail := h.wait(t)
	if want := string(byte((len(lent)-100)%251)) + string(got[:99]); len(tail) != 100 || tail[1:] != want[len(want)-99:] {
		t.Errorf("the process found %q in its memory", tail)
	}
	if err := p.Read(got[:8], address); !errors.Is(err, unix.ESRCH) {
		t.Errorf("reading from a process that has ended gave %v", err)
	}
	if err := p.Write(address, got[:8]); !errors.Is(err, unix.ESRCH) {
		t.Errorf("writing to a process that has ended gave %v", err)
	}
}

// A number that has come to mean another process is not written to.
func TestProcessIsNotItsNumber(t *testing.T) {
	h := start(t, "idle")
	p, err := OpenProcess(h.cmd.Process.Pid)
	must(t, err)
	defer func() { must(t, p.Close()) }()
	must(t, h.cmd.Process.Kill())
	_ = h.cmd.Wait()
	p.id = os.Getpid()
	mine := [1]byte{1}
	if err := p.Write(uint64(uintptr(unsafe.Pointer(&lent[0]))), mine[:]); !errors.Is(err, unix.ESRCH) || lent[0] != 0 {
		t.Errorf("writing to a number that is another process's gave %v and left %d", err, lent[0])
	}
}
