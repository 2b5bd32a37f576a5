package comm

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/psbench/psbench/comm/internal/commtest"
	"github.com/psbench/psbench/comm/tensor"
)

func TestStreamPortRefusesBadFrames(t *testing.T) {
	overNetworks(t, func(t *testing.T, n *Network) {
		specs := []tensor.BucketSpec{commtest.DenseSpec(0, 2), commtest.SparseSpec(1, 10, 1, 3)}
		values := tensor.Float32Bytes(make([]float32, 2))
		rows := func(r ...int32) []byte { return tensor.Int32Bytes(r) }
		for want, send := range map[string]func(c *Conn) error{
			"which does not serve it":  func(c *Conn) error { return c.Send(&Header{Op: opPush, Bucket: -1}) },
			"sent operation 64":        func(c *Conn) error { return c.Send(&Header{Op: OpUser}) },
			"sent 4 bytes of bucket 0": func(c *Conn) error { return c.Send(&Header{Op: opPush}, values[:4]) },
			"of -1 rows":               func(c *Conn) error { return c.Send(&Header{Op: opPush, Bucket: 1, Rows: -1}) },
			"of 4 rows does not fit":   func(c *Conn) error { return c.Send(&Header{Op: opPush, Bucket: 1, Rows: 4}) },
			"row 3 at place 1, which is not above row 3 before it": func(c *Conn) error { return c.Send(&Header{Op: opPush, Bucket: 1, Rows: 2}, rows(3, 3), values) },
			"row 10 at place 1, which is beyond the last row":      func(c *Conn) error { return c.Send(&Header{Op: opPush, Bucket: 1, Rows: 2}, rows(3, 10), values) },
			"sent 1 rows of bucket 0 to server9, which is dense":   func(c *Conn) error { return c.Send(&Header{Op: opPush, Rows: 1}, values) },
			fmt.Sprintf("sent operation 5 of batch 0, bucket 0, from element %d on to server9, which expects the push of batch 0, bucket 0, from element 0 on", ChunkElements): func(c *Conn) error {
				return c.Send(&Header{Op: opPush, Arg: ChunkElements}, values)
			},
			"before batch 0 of that bucket was answered": func(c *Conn) error {
				return errors.Join(c.Send(&Header{Op: opPush}, values), c.Send(&Header{Op: opPush, Batch: 1}, values))
			},
		} {
			near, far := link(t, n, "trainer0", "server9")
			p := NewStreamPort(Links{"server9", []*Conn{far}, patience}, specs, false)
			commtest.Must(t, send(near))
			if err := p.Serve(func(*Arrival) error { return nil }); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "trainer0") {
				t.Errorf("serve ended with %v, want %q", err, want)
			}
		}
	})
}

// strayServer answers a push of two chunks after it has read the first n of them.
func strayServer(t *testing.T, n *Network, read int, answers ...Header) error {
	near, far := link(t, n, "trainer0", "server9")
	spec := commtest.DenseSpec(0, ChunkElements+2)
	l := NewStreamLink(near, []tensor.BucketSpec{spec}, patience)
	defer func() { _ = l.Close() }()
	var f *Future
	var h Header
	payload := make([]byte, 4*ChunkElements)
	if read > 0 {
		f = l.PushPull(3, tensor.NewBucket(spec))
		for range read {
			commtest.Must(t, far.ReadHeader(&h))
			commtest.Must(t, far.ReadFull(payload[:h.Payload]))
		}
	}
	for _, a := range answers {
		size := 4 * min(ChunkElements, max(0, spec.Elements-int(a.Arg)))
		_ = far.Send(&a, payload[:size]) // the link may have hung up by then
	}
	commtest.Must(t, far.SetReadDeadline(time.Now().Add(patience)))
	for far.ReadHeader(&h) == nil { // until the link hangs up
		commtest.Must(t, far.ReadFull(payload[:h.Payload]))
	}
	if f == nil {
		f = l.PushPull(3, tensor.NewBucket(spec))
	}
	return f.Wait()
}

func TestStreamLinkRefusesStrayAnswers(t *testing.T) {
	good := Header{Op: opAnswer, Batch: 3}
	with := func(change func(h *Header)) Header {
		h := good
		change(&h)
		return h
	}
	overNetworks(t, func(t *testing.T, n *Network) {
		for what, c := range map[string]struct {
			read    int
			answers []Header
			want    string
		}{
			"before any push":   {0, []Header{good}, "sent operation 6 of batch 3, bucket 0, from element 0 on to trainer0, which has no such push in flight"},
			"another batch":     {2, []Header{with(func(h *Header) { h.Batch = 4 })}, "no such push in flight"},
			"another bucket":    {2, []Header{with(func(h *Header) { h.Bucket = 1 })}, "no such push in flight"},
			"another operation": {2, []Header{with(func(h *Header) { h.Op = opPush })}, "no such push in flight"},
			"a chunk twice":     {2, []Header{good, good}, "no such push in flight"},
			"an overlap":        {2, []Header{with(func(h *Header) { h.Arg = 1 })}, "no such push in flight"},
			"past the end":      {2, []Header{with(func(h *Header) { h.Arg = 2 * ChunkElements })}, "no such push in flight"},
			"before the start":  {2, []Header{with(func(h *Header) { h.Arg = -ChunkElements })}, "no such push in flight"},
			"rows":              {2, []Header{with(func(h *Header) { h.Rows = 1 })}, "sent 1 rows of bucket 0 to trainer0, which is dense"},
		} {
			if err := strayServer(t, n, c.read, c.answers...); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "server9") {
				t.Errorf("an answer to %s gave %v, want %q", what, err, c.want)
			}
		}
	})
}

func TestAnswersBeforeTheirChunkAreRefused(t *testing.T) {
	overNetworks(t, func(t *testing.T, n *Network) {
		near, far := link(t, n, "trainer0", "server9")
		l := NewStreamLink(near, []tensor.BucketSpec{vast}, patience)
		defer func() { _ = l.Close() }()
		f := l.PushPull(0, tensor.NewBucket(vast)) // stays unread, and so unsent
		var h Header
		commtest.Must(t, far.ReadHeader(&h))
		last := int64(chunksOf(&vast)-1) * ChunkElements
		_ = far.Send(&Header{Op: opAnswer, Arg: last}, make([]byte, 4*ChunkElements)) // the link may hang up before the end
		if err := f.Wait(); err == nil || !strings.Contains(err.Error(), "no such push in flight") {
			t.Fatalf("an answer to a chunk that was not sent gave %v", err)
		}
	})
}
