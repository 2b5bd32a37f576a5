package stream

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/commtest"
	"github.com/psbench/psbench/internal/comm/linktest"
	"github.com/psbench/psbench/internal/comm/op"
	"github.com/psbench/psbench/internal/comm/wire"
)

// The fuzz targets act as peers. FuzzListener sends arbitrary bytes. The other
// targets send a few good frames, then one with the right sequence number but
// arbitrary fields and payload, then arbitrary bytes.

var (
	fuzzSpecs = []tensor.BucketSpec{commtest.DenseSpec(0, 4), commtest.SparseSpec(1, 10, 2, 3),
		commtest.DenseSpec(2, comm.ChunkElements+1)}
	fuzzDense = tensor.Float32Bytes([]float32{1, 2, 3, 4})
	fuzzRows  = tensor.Int32Bytes([]int32{2, 7})
)

func FuzzPort(f *testing.F) {
	bye := linktest.Frame(wire.Header{Op: wire.OpBye})
	dense := linktest.Frame(wire.Header{Op: wire.OpPush, Batch: 1}, fuzzDense)
	sparse := linktest.Frame(wire.Header{Op: wire.OpPush, Bucket: 1, Rows: 2}, fuzzRows, fuzzDense)
	linktest.Bending(f, []func(*wire.Header) []byte{dense, sparse, dense, bye}, func(t *testing.T, stream []byte) {
		defer linktest.InTime("a port")()
		far, near := linktest.SocketPair(t, "server9", "trainer0")
		other, quiet := linktest.SocketPair(t, "server9", "trainer1")
		p := heapPort(wire.Links{Self: "server9", Conns: []*wire.Conn{far, other}, Timeout: linktest.Patience},
			fuzzSpecs, true)
		for _, b := range p.Stores(1)[0].Buckets {
			for i := range b.Gradient.Values {
				b.Gradient.Values[i] = 7
			}
		}
		var peers sync.WaitGroup
		peers.Go(func() { linktest.Speak(near, stream) })
		peers.Go(func() { linktest.Speak(quiet, linktest.Frames(bye)) })
		var wrong atomic.Value
		err := p.Serve(func(a *comm.Arrival) error {
			spec := &fuzzSpecs[a.Bucket]
			if a.Trainer != 0 || !spec.Sparse && a.Chunks != chunksOf(spec) ||
				spec.Sparse && tensor.CheckRows(a.Gradient.Rows, spec.TableRows) != nil {
				wrong.Store(fmt.Sprintf("a port handed over %+v", a))
			}
			return a.Answer(a.Gradient)
		})
		commtest.Must(t, p.Close())
		peers.Wait()
		if w := wrong.Load(); w != nil {
			t.Fatal(w)
		}
		if err != nil && !strings.Contains(err.Error(), "trainer0") {
			t.Fatalf("a port ended with %v, which does not name trainer0", err)
		}
		if err == nil && !bytes.Contains(stream, linktest.Frames(bye)[:7]) { // magic, version and operation
			t.Fatal("a port took a stream without a goodbye for an orderly one")
		}
		for _, b := range p.Stores(1)[0].Buckets {
			for i, v := range b.Gradient.Values {
				if v != 7 {
					t.Fatalf("element %d of another trainer's bucket %d became %g", i, b.Index, v)
				}
			}
		}
	})
}

func FuzzLink(f *testing.F) {
	dense := linktest.Frame(wire.Header{Op: wire.OpAnswer}, fuzzDense)
	sparse := linktest.Frame(wire.Header{Op: wire.OpAnswer, Bucket: 1, Rows: 2}, fuzzRows, fuzzDense)
	linktest.Bending(f, []func(*wire.Header) []byte{sparse, dense}, func(t *testing.T, stream []byte) {
		defer linktest.InTime("a link")()
		near, far := linktest.SocketPair(t, "trainer0", "server9")
		l := newLink(near, fuzzSpecs, linktest.Patience)
		store := comm.NewStore(fuzzSpecs)
		idle := store.Buckets[2].Gradient.Values
		idle[0], idle[comm.ChunkElements] = 7, 7
		futures := []*comm.Future{l.PushPull(0, store.Buckets[0]), l.PushPull(0, store.Buckets[1])}
		_, err := io.ReadFull(far, make([]byte, 2*wire.HeaderSize+len(fuzzDense)))
		commtest.Must(t, err)
		linktest.Speak(far, stream)
		for _, future := range futures {
			if err := future.Wait(); err != nil && !strings.Contains(err.Error(), "server9") {
				t.Fatalf("a push ended with %v, which does not name server9", err)
			}
		}
		if idle[0] != 7 || idle[comm.ChunkElements] != 7 {
			t.Fatal("an answer changed a bucket that was not pushed")
		}
		if g := &store.Buckets[1].Gradient; futures[1].Wait() == nil {
			commtest.Must(t, tensor.CheckRows(g.Rows, fuzzSpecs[1].TableRows))
		}
		_ = l.Close()
	})
}

func FuzzRing(f *testing.F) {
	piece := linktest.Frame(wire.Header{Op: wire.OpScatter}, fuzzDense[:8])
	result := linktest.Frame(wire.Header{Op: wire.OpGather, Arg: 1}, fuzzDense[:8])
	rows := linktest.Frame(wire.Header{Op: wire.OpRows, Bucket: 1, Rows: 2}, fuzzRows, fuzzDense)
	castRows := linktest.Frame(wire.Header{Op: wire.OpBroadcast, Batch: 1, Bucket: 1, Rows: 2, Arg2: 1}, fuzzRows)
	cast := linktest.Frame(wire.Header{Op: wire.OpBroadcast, Batch: 1, Bucket: 1, Arg: 1, Arg2: 1}, fuzzDense)
	barrier := linktest.Frame(wire.Header{Op: wire.OpBarrier, Bucket: op.BarrierIndex})
	good := []func(*wire.Header) []byte{piece, result, rows, castRows, cast, barrier}
	linktest.Bending(f, good, func(t *testing.T, stream []byte) {
		defer linktest.InTime("a ring")()
		near, far := linktest.SocketPair(t, "trainer0", "trainer1")
		r := newRing(wire.Links{Self: "trainer0", Conns: []*wire.Conn{nil, near}, Timeout: linktest.Patience}, 0,
			fuzzSpecs)
		store := comm.NewStore(fuzzSpecs)
		var peer sync.WaitGroup
		peer.Go(func() { linktest.Speak(far, stream) })
		futures := []*comm.Future{r.AllReduce(0, store.Buckets[0]), r.AllReduce(0, store.Buckets[1])}
		for _, future := range futures {
			_ = future.Wait()
		}
		futures = append(futures, r.Broadcast(1, store.Buckets[1], 1), comm.Completed(r.Barrier()))
		for _, future := range futures {
			if err := future.Wait(); err != nil && !strings.Contains(err.Error(), "trainer1") {
				t.Fatalf("an operation ended with %v, which does not name trainer1", err)
			}
		}
		commtest.Must(t, tensor.CheckRows(store.Buckets[0].Gradient.Rows, 0))
		if g := &store.Buckets[1].Gradient; futures[2].Wait() == nil {
			commtest.Must(t, tensor.CheckRows(g.Rows, fuzzSpecs[1].TableRows))
		}
		_ = r.Close()
		peer.Wait()
	})
}
