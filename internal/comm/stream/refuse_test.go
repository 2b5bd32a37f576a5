package stream

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/commtest"
	"github.com/psbench/psbench/internal/comm/linktest"
	"github.com/psbench/psbench/internal/comm/wire"
)

func TestStreamPortRefusesBadFrames(t *testing.T) {
	linktest.OverNetworks(t, func(t *testing.T, n *wire.Network) {
		specs := []tensor.BucketSpec{commtest.DenseSpec(0, 2), commtest.SparseSpec(1, 10, 1, 3)}
		values := tensor.Float32Bytes(make([]float32, 2))
		rows := func(r ...int32) []byte { return tensor.Int32Bytes(r) }
		for want, send := range map[string]func(c *wire.Conn) error{
			"which does not serve it": func(c *wire.Conn) error {
				return c.Send(&wire.Header{Op: wire.OpPush, Bucket: -1})
			},
			"sent operation 64": func(c *wire.Conn) error { return c.Send(&wire.Header{Op: wire.OpUser}) },
			"sent 4 bytes of bucket 0": func(c *wire.Conn) error {
				return c.Send(&wire.Header{Op: wire.OpPush}, values[:4])
			},
			"of -1 rows": func(c *wire.Conn) error {
				return c.Send(&wire.Header{Op: wire.OpPush, Bucket: 1, Rows: -1})
			},
			"of 4 rows does not fit": func(c *wire.Conn) error {
				return c.Send(&wire.Header{Op: wire.OpPush, Bucket: 1, Rows: 4})
			},
			"row 3 at place 1, which is not above row 3 before it": func(c *wire.Conn) error {
				return c.Send(&wire.Header{Op: wire.OpPush, Bucket: 1, Rows: 2}, rows(3, 3), values)
			},
			"row 10 at place 1, which is beyond the last row": func(c *wire.Conn) error {
				return c.Send(&wire.Header{Op: wire.OpPush, Bucket: 1, Rows: 2}, rows(3, 10), values)
			},
			"sent 1 rows of bucket 0 to server9, which is dense": func(c *wire.Conn) error {
				return c.Send(&wire.Header{Op: wire.OpPush, Rows: 1}, values)
			},
			fmt.Sprintf("sent operation 5 of batch 0, bucket 0, from element %d on to server9, which expects the push of batch 0, bucket 0, from element 0 on",
				comm.ChunkElements): func(c *wire.Conn) error {
				return c.Send(&wire.Header{Op: wire.OpPush, Arg: comm.ChunkElements}, values)
			},
			"before batch 0 of that bucket was answered": func(c *wire.Conn) error {
				return errors.Join(c.Send(&wire.Header{Op: wire.OpPush}, values),
					c.Send(&wire.Header{Op: wire.OpPush, Batch: 1}, values))
			},
		} {
			near, far := linktest.Link(t, n, "trainer0", "server9")
			p := heapPort(wire.Links{Self: "server9", Conns: []*wire.Conn{far}, Timeout: linktest.Patience}, specs,
				false)
			commtest.Must(t, send(near))
			if err := p.Serve(func(*comm.Arrival) error { return nil }); err == nil ||
				!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "trainer0") {
				t.Errorf("serve ended with %v, want %q", err, want)
			}
		}
	})
}

// strayServer reads the first n chunks of a push of two chunks and then sends
// answers.
func strayServer(t *testing.T, n *wire.Network, read int, answers ...wire.Header) error {
	near, far := linktest.Link(t, n, "trainer0", "server9")
	spec := commtest.DenseSpec(0, comm.ChunkElements+2)
	l := newLink(near, []tensor.BucketSpec{spec}, linktest.Patience)
	defer func() { _ = l.Close() }()
	var f *comm.Future
	var h wire.Header
	payload := make([]byte, 4*comm.ChunkElements)
	if read > 0 {
		f = l.PushPull(3, tensor.NewBucket(spec))
		for range read {
			commtest.Must(t, far.ReadHeader(&h))
			commtest.Must(t, far.ReadFull(payload[:h.Payload]))
		}
	}
	for _, a := range answers {
		size := 4 * min(comm.ChunkElements, max(0, spec.Elements-int(a.Arg)))
		_ = far.Send(&a, payload[:size]) // the link may have hung up by now
	}
	commtest.Must(t, far.SetReadDeadline(time.Now().Add(linktest.Patience)))
	for far.ReadHeader(&h) == nil { // until the link hangs up
		commtest.Must(t, far.ReadFull(payload[:h.Payload]))
	}
	if f == nil {
		f = l.PushPull(3, tensor.NewBucket(spec))
	}
	return f.Wait()
}

func TestStreamLinkRefusesStrayAnswers(t *testing.T) {
	good := wire.Header{Op: wire.OpAnswer, Batch: 3}
	with := func(change func(h *wire.Header)) wire.Header {
		h := good
		change(&h)
		return h
	}
	linktest.OverNetworks(t, func(t *testing.T, n *wire.Network) {
		for what, c := range map[string]struct {
			read    int
			answers []wire.Header
			want    string
		}{
			"before any push": {0, []wire.Header{good},
				"sent operation 6 of batch 3, bucket 0, from element 0 on to trainer0, which has no such push in flight"},
			"another batch": {2, []wire.Header{with(func(h *wire.Header) { h.Batch = 4 })},
				"no such push in flight"},
			"another bucket": {2, []wire.Header{with(func(h *wire.Header) { h.Bucket = 1 })},
				"no such push in flight"},
			"another operation": {2, []wire.Header{with(func(h *wire.Header) { h.Op = wire.OpPush })},
				"no such push in flight"},
			"a chunk twice": {2, []wire.Header{good, good}, "no such push in flight"},
			"an overlap":    {2, []wire.Header{with(func(h *wire.Header) { h.Arg = 1 })}, "no such push in flight"},
			"past the end": {2, []wire.Header{with(func(h *wire.Header) { h.Arg = 2 * comm.ChunkElements })},
				"no such push in flight"},
			"before the start": {2, []wire.Header{with(func(h *wire.Header) { h.Arg = -comm.ChunkElements })},
				"no such push in flight"},
			"rows": {2, []wire.Header{with(func(h *wire.Header) { h.Rows = 1 })},
				"sent 1 rows of bucket 0 to trainer0, which is dense"},
		} {
			if err := strayServer(t, n, c.read, c.answers...); err == nil || !strings.Contains(err.Error(), c.want) ||
				!strings.Contains(err.Error(), "server9") {
				t.Errorf("an answer to %s gave %v, want %q", what, err, c.want)
			}
		}
	})
}

func TestAnswersBeforeTheirChunkAreRefused(t *testing.T) {
	linktest.OverNetworks(t, func(t *testing.T, n *wire.Network) {
		near, far := linktest.Link(t, n, "trainer0", "server9")
		l := newLink(near, []tensor.BucketSpec{vast}, linktest.Patience)
		defer func() { _ = l.Close() }()
		f := l.PushPull(0, tensor.NewBucket(vast)) // the server never reads, so the push stays unsent
		var h wire.Header
		commtest.Must(t, far.ReadHeader(&h))
		last := int64(chunksOf(&vast)-1) * comm.ChunkElements
		// The link may hang up before everything is sent.
		_ = far.Send(&wire.Header{Op: wire.OpAnswer, Arg: last}, make([]byte, 4*comm.ChunkElements))
		if err := f.Wait(); err == nil || !strings.Contains(err.Error(), "no such push in flight") {
			t.Fatalf("an answer to a chunk that was not sent gave %v", err)
		}
	})
}
