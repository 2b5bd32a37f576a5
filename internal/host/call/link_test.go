package call

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/internal/comm/wire"
	"github.com/psbench/psbench/internal/host/hosttest"
	"github.com/psbench/psbench/internal/host/process"
)

// linked returns both ends of a call link in shared memory, with n bytes for each side.
func linked(t testing.TB, n int) (trainer, companion *Link) {
	t.Helper()
	a, b := hosttest.Pair(t)
	process := func(name string) *process.Process {
		p := hosttest.Process(t, hosttest.Folder(t), nil, process.Config{Name: name, Transport: "shm"})
		p.Timeout = hosttest.Patience
		return p
	}
	near, far := process("trainer0"), process("companion")
	taken := make(chan error, 1)
	go func() {
		var err error
		if companion, err = Take(far, b); err == nil {
			err = companion.Watch(far)
		}
		taken <- err
	}()
	trainer, err := Offer(near, a, n)
	hosttest.Must(t, err)
	hosttest.Must(t, trainer.Watch(near))
	hosttest.Must(t, <-taken)
	return trainer, companion
}

// The receiver reads exactly the sent bytes, however many parts they take.
func TestCallsThroughMemory(t *testing.T) {
	const room = 2 * lineBytes
	trainer, companion := linked(t, room)
	rapid.Check(t, func(t *rapid.T) {
		from, to := trainer, companion
		for range rapid.IntRange(1, 4).Draw(t, "calls") {
			headers := rapid.IntRange(0, 2*laneSlots).Draw(t, "headers")
			payload := rapid.SliceOfN(rapid.Byte(), 0, 5*room).Draw(t, "payload")
			cut := rapid.IntRange(0, len(payload)).Draw(t, "cut")
			sent := make(chan error, 1)
			go func() {
				for i := range headers {
					if err := from.Send(&wire.Header{Op: opTested, Arg: int64(i)}); err != nil {
						sent <- err
						return
					}
				}
				sent <- from.Send(&wire.Header{Op: opTested, Arg: 7, Batch: -3}, payload[:cut], payload[cut:])
			}()
			var h wire.Header
			for i := range headers {
				hosttest.Must(t, to.ReadHeader(&h))
				if h.Op != opTested || h.Arg != int64(i) || h.Payload != 0 {
					t.Fatalf("header %d came as %+v", i, h)
				}
			}
			hosttest.Must(t, to.ReadHeader(&h))
			if h.Op != opTested || h.Arg != 7 || h.Batch != -3 || h.Payload != uint64(len(payload)) {
				t.Fatalf("%d bytes came as %+v", len(payload), h)
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

// lie puts a false header into the next slot, without any check.
func lie(m *memory, h wire.Header) {
	h.Encode(&m.going.slots[m.going.at%laneSlots])
	m.going.at++
	m.going.sent.Store(m.going.at)
	m.peer.Ring()
}

func TestCallMemoryRefusesLies(t *testing.T) {
	for want, lies := range map[string][]wire.Header{
		"sent 129 bytes in memory, which has 128":            {{Op: opTested, Payload: 129, Link: 129}},
		"sent 18446744073709551615 bytes in memory":          {{Op: opTested, Payload: 129, Link: 1<<64 - 1}},
		"sent 5 bytes in memory of a payload of which 4 are": {{Op: opTested, Payload: 4, Link: 5}},
		"sent 0 bytes in memory of a payload of which 4 are": {{Op: opTested, Payload: 4}},
		"sent 8 bytes in memory where 100 are due":           {{Op: opTested, Payload: 8, Link: 8}},
		"sent a call where more of a payload is due": {{Op: opTested, Payload: 200, Link: 8},
			{Op: opTested, Sequence: 1}},
		"sent more of a payload where a call is due":     {{Op: opTested, Flags: rest}},
		"sent frame 3 to companion where frame 0 is due": {{Op: opTested, Sequence: 3}},
		"companion cannot read what trainer0 sent":       {{}},
	} {
		t.Run(want, func(t *testing.T) {
			trainer, companion := linked(t, 128)
			for _, h := range lies {
				lie(trainer.memory, h)
			}
			hosttest.Must(t, companion.Bound(hosttest.Patience))
			var h wire.Header
			err := companion.ReadHeader(&h)
			if err == nil {
				err = companion.ReadFull(make([]byte, 100))
			}
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		})
	}
}

// A call times out at the deadline if the peer does not answer, or does not take the payload. A
// call fails at once if the peer ends.
func TestCallMemoryEndsInTime(t *testing.T) {
	trainer, _ := linked(t, 128)
	hosttest.Must(t, trainer.Bound(20*time.Millisecond))
	var h wire.Header
	for what, err := range map[string]error{
		"a frame":          trainer.ReadHeader(&h),
		"room for a frame": trainer.Send(&h, make([]byte, 200)),
	} {
		t.Run(what, func(t *testing.T) {
			wait, ok := errors.AsType[*comm.WaitError](err)
			if !ok || wait.What != what || !slices.Equal(wait.For, []string{"companion"}) || wait.Seconds != 0.02 {
				t.Errorf("%s: %v", what, err)
			}
		})
	}
	for _, own := range []bool{false, true} {
		waiting, ending := linked(t, 128)
		if own {
			ending = waiting
		}
		ended := make(chan error, 1)
		hosttest.Must(t, waiting.Lift())
		go func() { ended <- waiting.ReadHeader(&wire.Header{}) }()
		hosttest.Must(t, ending.Close())
		select {
		case err := <-ended:
			if _, ok := errors.AsType[*comm.PeerError](err); !ok {
				t.Errorf("closed by itself: %v, a wait gave %v", own, err)
			}
		case <-time.After(hosttest.Patience):
			t.Fatalf("closed by itself: %v, a wait goes on", own)
		}
		hosttest.Must(t, waiting.Close())
		if err := waiting.Send(&wire.Header{Op: opTested}); err == nil {
			t.Errorf("closed by itself: %v, a link sends", own)
		}
	}
}

// The receiver sees a payload part by part in the sender's memory. The payload stays valid until
// the payload after the next one. A payload larger than the room cannot be seen in place.
func TestPayloadsAreSeenWhereTheyLie(t *testing.T) {
	const room = 2 * lineBytes
	trainer, companion := linked(t, room)
	var h wire.Header
	var before []byte
	for i := range 5 {
		made, err := trainer.Place(8)
		hosttest.Must(t, err)
		made[0] = byte(i)
		hosttest.Must(t, trainer.Send(&wire.Header{Op: opTested}, made, []byte{100, 101, byte(i)}))
		hosttest.Must(t, companion.ReadHeader(&h))
		seen, sealed := companion.View(8, false), companion.View(2, true)
		last := make([]byte, 1)
		hosttest.Must(t, companion.ReadFull(last))
		if len(seen) != 8 || int(seen[0]) != i || !slices.Equal(sealed, []byte{100, 101}) || int(last[0]) != i ||
			i > 0 && int(before[0]) != i-1 {
			t.Fatalf("payload %d is seen as %v, %v and %v, the one before it as %v", i, seen, sealed, last, before)
		}
		seen[7] = byte(i) // in memory that both sides share
		if before = seen; made[7] != byte(i) {
			t.Errorf("payload %d lies elsewhere on the other side", i)
		}
	}
	if at, err := trainer.Place(room + 1); at != nil || err != nil {
		t.Errorf("there is room for more than the room: %v", err)
	}
	sent := make(chan error, 1)
	go func() { sent <- trainer.Send(&wire.Header{Op: opTested}, make([]byte, 2*room)) }()
	hosttest.Must(t, companion.ReadHeader(&h))
	if companion.View(2*room, false) != nil || companion.View(8, false) != nil {
		t.Error("a payload is seen that goes in turns")
	}
	hosttest.Must(t, companion.ReadFull(make([]byte, 2*room)))
	hosttest.Must(t, <-sent)
}

// If a peer dies before Watch, the error comes long before the deadline.
func TestAPeerThatDiesWhileLinksAreMade(t *testing.T) {
	a, b := hosttest.Pair(t)
	near := hosttest.Process(t, hosttest.Folder(t), nil, process.Config{Name: "trainer0", Transport: "shm"})
	far := hosttest.Process(t, hosttest.Folder(t), nil, process.Config{Name: "companion", Transport: "shm"})
	taken := make(chan error, 1)
	go func() {
		_, err := Take(far, b)
		taken <- err
	}()
	trainer, err := Offer(near, a, 128)
	hosttest.Must(t, err)
	hosttest.Must(t, <-taken)
	hosttest.Must(t, trainer.Bound(hosttest.Patience))
	time.AfterFunc(30*time.Millisecond, func() { _ = b.Close() })
	ended := make(chan error, 1)
	go func() { ended <- trainer.ReadHeader(&wire.Header{}) }()
	select {
	case err = <-ended:
	case <-time.After(hosttest.Patience / 2):
		t.Fatal("the wait goes on")
	}
	if peer, ok := errors.AsType[*comm.PeerError](err); !ok || peer.Peer != "companion" {
		t.Errorf("the wait gave %v", err)
	}
}

// Discard drops everything that a peer still sends for a failed call, until the peer ends.
func TestCallMemoryDiscards(t *testing.T) {
	trainer, companion := linked(t, 128)
	var h wire.Header
	done := make(chan struct{})
	go func() {
		defer close(done)
		hosttest.Must(t, companion.ReadHeader(&h))
		companion.Discard()
	}()
	for range 3 * laneSlots {
		hosttest.Must(t, trainer.Bound(hosttest.Patience))
		hosttest.Must(t, trainer.Send(&wire.Header{Op: opTested}, make([]byte, 300)))
	}
	hosttest.Must(t, trainer.Close())
	<-done
}

// A call and its answer allocate no memory.
func TestCallMemoryAllocatesNothing(t *testing.T) {
	trainer, companion := linked(t, 128)
	go func() {
		var h wire.Header
		for companion.ReadHeader(&h) == nil && companion.Send(&h) == nil {
		}
	}()
	h, payload := &wire.Header{Op: opTested}, make([]byte, 8)
	if n := testing.AllocsPerRun(100, func() {
		hosttest.Must(t, trainer.Bound(hosttest.Patience))
		hosttest.Must(t, trainer.Send(h, payload))
		hosttest.Must(t, trainer.ReadHeader(h))
	}); n != 0 {
		t.Errorf("it allocates %v times", n)
	}
}

// opTested is an arbitrary operation for the tests.
const opTested = wire.OpUser + 0x19

// BenchmarkNoOp measures a call that does nothing, with its answer, over shared memory and over a
// socket.
func BenchmarkNoOp(b *testing.B) {
	a, c := hosttest.Pair(b)
	overMemory := func() (near, far *Link) { return linked(b, 128) }
	for name, pair := range map[string]func() (near, far *Link){
		"memory": overMemory,
		"socket": func() (near, far *Link) { return &Link{Conn: a}, &Link{Conn: c} },
	} {
		b.Run(name, func(b *testing.B) {
			near, far := pair()
			b.ReportAllocs()
			hosttest.Must(b, far.Lift())
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				var h wire.Header
				for far.ReadHeader(&h) == nil && h.Arg == 0 && far.Send(&h) == nil {
				}
			}()
			var h wire.Header
			for b.Loop() {
				h = wire.Header{Op: opTested}
				hosttest.Must(b, near.Bound(hosttest.Patience))
				hosttest.Must(b, near.Send(&h))
				hosttest.Must(b, near.ReadHeader(&h))
			}
			hosttest.Must(b, near.Send(&wire.Header{Op: opTested, Arg: 1}))
			<-ended
		})
	}
}
