package protocol

import (
	"errors"
	"math"
	"testing"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/internal/comm/wire"
	"github.com/psbench/psbench/internal/host/fault"
	"github.com/psbench/psbench/internal/host/protocol/protocoltest"
	"github.com/psbench/psbench/sdk"
)

// most is the maximum memory, in bytes, that a fuzzed part may request.
const most = 1 << 16

// FuzzHookFrames lets a part with one bucket send any frame. The host executes the frame or blames
// the part.
func FuzzHookFrames(f *testing.F) {
	for _, x := range exchanges {
		f.Add(uint8(x.h.Op), x.h.Flags, x.h.Batch, x.h.Bucket, x.h.Rows, x.h.Arg, x.h.Arg2)
	}
	f.Add(uint8(opAverage), uint8(flagLast), int64(4), int32(1), int32(6), int64(0), int64(0))
	folder := f.TempDir()
	quiet := func(*protocoltest.Part, wire.Header) error { return nil }
	h, store := hookOf(f, newHost(f, folder, "trainer0", "unix", late), folder, bucketsOf(8), quiet)
	group := &still{done: comm.Completed(nil)}
	h.Join(sdk.Links{Group: group, Default: &links{}, Server: &links{}})
	f.Fuzz(func(t *testing.T, op, flags uint8, batch int64, bucket, rows int32, arg, arg2 int64) {
		if wire.Op(op) == opMemory && arg > most || wire.Op(op) == opFailed {
			return
		}
		for _, b := range store.Buckets {
			h.Reduce(at(4), b) // fails if the bucket is in flight
		}
		err := h.link.handle(&wire.Header{Op: wire.Op(op), Flags: flags, Batch: batch, Bucket: bucket, Rows: rows,
			Arg: arg, Arg2: arg2})
		if part := (*fault.Part)(nil); err != nil && !errors.As(err, &part) {
			t.Errorf("it ended with %v, which names nobody", err)
		}
	})
}

// FuzzAnnouncements lets a part announce any tensor. The visible part of the tensor must lie in its
// segment.
func FuzzAnnouncements(f *testing.F) {
	for _, offset := range []int64{0, 4, -4, 2, 4092, 4096, math.MinInt64} {
		for _, n := range []int64{0, 1, 1024, -1, math.MaxInt64, math.MaxInt64 / 4} {
			f.Add(uint8(roleOutput), int32(0), int32(2), offset, n)
		}
	}
	made, _, _ := modelOf(f, described, playModel())
	l := made.(featureModel).link
	if err := l.lend(&wire.Header{Op: opMemory, Arg: 4096}); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, flags uint8, index, segment int32, offset, n int64) {
		err := l.handle(&wire.Header{Op: opTensor, Flags: flags, Bucket: index, Rows: segment, Arg: offset, Arg2: n})
		at, verr := l.view(role(flags), index, n)
		if err != nil {
			return
		}
		whole := l.numbered(segment).Bytes()
		if verr != nil || int64(len(at)) != 4*n || n > 0 && &at[0] != &whole[offset] || offset+4*n > int64(len(whole)) {
			t.Errorf("%d elements at %d of %d bytes are seen as %d bytes, %v", n, offset, len(whole), len(at), verr)
		}
	})
}
