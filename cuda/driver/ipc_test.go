//go:build nvidia

package driver_test

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/psbench/psbench/cuda/driver"
)

func readHandle(r io.Reader) (handle [64]byte) {
	_, _ = io.ReadFull(r, handle[:])
	return handle
}

// importChild opens memory and an event of another process, waits for the event, and adds to the data written
// before it.
func importChild() error {
	memory, event := readHandle(os.Stdin), readHandle(os.Stdin)
	c, err := driver.Open(0)
	if err != nil {
		return err
	}
	x, err := c.ImportMemory(memory)
	if err != nil {
		return err
	}
	e, err := c.ImportEvent(event)
	if err != nil {
		return err
	}
	s, err := c.NewStream()
	if err != nil {
		return err
	}
	host, err := c.AllocHost(1024)
	if err != nil {
		return err
	}
	if err := firstOf(s.Wait(e), s.CopyOut(start(host), x, 1024), s.Synchronize()); err != nil {
		return err
	}
	for i := range host {
		host[i]++
	}
	return firstOf(s.CopyIn(x, start(host), 1024), s.Synchronize(), c.CloseImported(x), e.Destroy(), s.Destroy(),
		c.FreeHost(host), c.Close())
}

func TestOtherProcesses(t *testing.T) {
	c := open(t)
	s := newStream(t, c)
	e := newEvent(t, c, driver.EventOptions{Interprocess: true})
	host, x := allocHost(t, c, 1024), alloc(t, c, 1024)
	for i := range host {
		host[i] = byte(i)
	}
	check(t, s.CopyIn(x, start(host), 1024))
	check(t, e.Record(s)) // must come before the message to the other process, which would otherwise wait for nothing
	memory, err := c.ExportMemory(x)
	check(t, err)
	event, err := c.ExportEvent(e)
	check(t, err)
	for _, name := range []string{"import", "apart"} {
		if stdout, stderr, status := child(t, name, string(memory[:])+string(event[:]),
			"PSBENCH_DOUBLE_EXIT=9"); status != 0 {
			t.Fatalf("%s: status %d: %s\n%s", name, status, stdout, stderr)
		}
	}
	check(t, s.CopyOut(start(host), x, 1024))
	check(t, s.Synchronize())
	for i := range host {
		if host[i] != byte(i)+1 {
			t.Fatalf("byte %d is %d but must be %d", i, host[i], byte(i)+1)
		}
	}
}

func TestHandlesOfNothing(t *testing.T) {
	c := open(t)
	_, memory := c.ImportMemory([64]byte{1})
	_, event := c.ImportEvent([64]byte{1})
	for call, err := range map[string]error{"cuIpcOpenMemHandle": memory, "cuIpcOpenEventHandle": event} {
		if err == nil || !strings.HasPrefix(err.Error(), fmt.Sprintf("%s on cuda:0: ", call)) {
			t.Errorf("%v", err)
		}
	}
}
