package call

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/psbench/psbench/comm/wire"
	"github.com/psbench/psbench/sdk/host/internal/hosttest"
	"github.com/psbench/psbench/sdk/host/process"
)

// linked is a call link between a trainer and another process.
func linked(t testing.TB) (trainer, companion *Link) {
	a, b := hosttest.Pair(t)
	return &Link{Conn: a}, &Link{Conn: b}
}

// memoryPair is a call link in shared memory with n bytes for each side.
func memoryPair(t testing.TB, n int) (trainer, companion *Link) {
	t.Helper()
	trainer, companion = linked(t)
	process := func(name string) *process.Process {
		return hosttest.Process(t, hosttest.Folder(t), nil, process.Config{Name: name, Transport: "shm"})
	}
	near, far := process("trainer0"), process("companion")
	taken := make(chan error, 1)
	go func() { taken <- TakeMemory(far, companion) }()
	hosttest.Must(t, OfferMemory(near, trainer, n))
	hosttest.Must(t, <-taken)
	return trainer, companion
}

// What one side sends the other reads, in memory or, where it does not fit there,
// in frames.
func TestCallsThroughMemory(t *testing.T) {
	const room = 100
	trainer, companion := memoryPair(t, room)
	rapid.Check(t, func(t *rapid.T) {
		from, to := trainer, companion
		for range rapid.IntRange(1, 4).Draw(t, "calls") {
			payload := rapid.SliceOfN(rapid.Byte(), 0, 2*room).Draw(t, "payload")
			cut := rapid.IntRange(0, len(payload)).Draw(t, "cut")
			sent := make(chan error, 1)
			go func() { sent <- from.Send(&wire.Header{Op: opTested, Arg: 7}, payload[:cut], payload[cut:]) }()
			var h wire.Header
			hosttest.Must(t, to.ReadHeader(&h))
			if h.Op != opTested || h.Arg != 7 || h.Payload != uint64(len(payload)) {
				t.Fatalf("%d bytes came as %+v", len(payload), h)
			}
			if inFrame := h.Flags != inMemory; inFrame != (len(payload) > room || len(payload) == 0) {
				t.Errorf("%d bytes came in a frame: %v", len(payload), inFrame)
			}
			got := make([]byte, len(payload))
			again := rapid.IntRange(0, len(payload)).Draw(t, "again")
			hosttest.Must(t, to.ReadFull(got[:again]))
			hosttest.Must(t, to.ReadFull(got[again:]))
			if !bytes.Equal(got, payload) {
				t.Fatalf("%d bytes came as %v", len(payload), got)
			}
			hosttest.Must(t, <-sent)
			from, to = to, from
		}
	})
}

func TestCallMemoryRefusesLies(t *testing.T) {
	for want, lie := range map[string]wire.Header{
		"sent 101 bytes in memory, which has 100":  {Op: opTested, Flags: inMemory, Batch: 101},
		"sent -1 bytes in memory, which has 100":   {Op: opTested, Flags: inMemory, Batch: -1},
		"sent 0 bytes in memory, which has 100":    {Op: opTested, Flags: inMemory},
		"which has 100, and 3 after them":          {Op: opTested, Flags: inMemory, Batch: 5, Payload: 3},
		"sent 8 bytes in memory where 100 are due": {Op: opTested, Flags: inMemory, Batch: 8},
	} {
		trainer, companion := memoryPair(t, 100)
		hosttest.Must(t, trainer.Conn.Send(&lie, make([]byte, lie.Payload)))
		var h wire.Header
		err := companion.ReadHeader(&h)
		if err == nil {
			err = companion.ReadFull(make([]byte, 100))
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	trainer, companion := linked(t)
	hosttest.Must(t, trainer.Conn.Send(&wire.Header{Op: opTested, Flags: inMemory, Batch: 1}))
	if err := companion.ReadHeader(&wire.Header{}); err == nil || !strings.Contains(err.Error(), "in memory, which has 0") {
		t.Errorf("without any memory: %v", err)
	}
}

// opTested is any operation.
const opTested = wire.OpUser + 0x19
