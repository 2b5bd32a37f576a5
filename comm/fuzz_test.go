package comm

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/psbench/psbench/comm/internal/commtest"
	"github.com/psbench/psbench/comm/tensor"
)

// The fuzz targets are peers. FuzzListener sends arbitrary bytes; the others send a
// few good frames, then one whose fields and payload are arbitrary but whose number
// is right, then arbitrary bytes.

var (
	fuzzSpecs = []tensor.BucketSpec{commtest.DenseSpec(0, 4), commtest.SparseSpec(1, 10, 2, 3), commtest.DenseSpec(2, ChunkElements+1)}
	fuzzDense = tensor.Float32Bytes([]float32{1, 2, 3, 4})
	fuzzRows  = tensor.Int32Bytes([]int32{2, 7})
)

func FuzzPort(f *testing.F) {
	bye := frame(Header{Op: opBye})
	dense := frame(Header{Op: opPush, Batch: 1}, fuzzDense)
	sparse := frame(Header{Op: opPush, Bucket: 1, Rows: 2}, fuzzRows, fuzzDense)
	bending(f, []func(*Header) []byte{dense, sparse, dense, bye}, func(t *testing.T, stream []byte) {
		defer inTime("a port")()
		far, near := socketPair(t, "server9", "trainer0")
		other, quiet := socketPair(t, "server9", "trainer1")
		p := NewStreamPort(Links{"server9", []*Conn{far, other}, patience}, fuzzSpecs, true)
		for _, b := range p.Store(1).Buckets {
			for i := range b.Gradient.Values {
				b.Gradient.Values[i] = 7
			}
		}
		var peers sync.WaitGroup
		peers.Go(func() { speak(near, stream) })
		peers.Go(func() { speak(quiet, frames(bye)) })
		var wrong atomic.Value
		err := p.Serve(func(a *Arrival) error {
			spec := &fuzzSpecs[a.Bucket]
			if a.Trainer != 0 || !spec.Sparse && a.Chunks != chunksOf(spec) || spec.Sparse && tensor.CheckRows(a.Gradient.Rows, spec.TableRows) != nil {
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
		if err == nil && !bytes.Contains(stream, frames(bye)[:7]) { // magic, version and operation
			t.Fatal("a port took a stream without a goodbye for an orderly one")
		}
		for _, b := range p.Store(1).Buckets {
			for i, v := range b.Gradient.Values {
				if v != 7 {
					t.Fatalf("element %d of another trainer's bucket %d became %g", i, b.Index, v)
				}
			}
		}
	})
}

func FuzzLink(f *testing.F) {
	dense := frame(Header{Op: opAnswer}, fuzzDense)
	sparse := frame(Header{Op: opAnswer, Bucket: 1, Rows: 2}, fuzzRows, fuzzDense)
	bending(f, []func(*Header) []byte{sparse, dense}, func(t *testing.T, stream []byte) {
		defer inTime("a link")()
		near, far := socketPair(t, "trainer0", "server9")
		l := NewStreamLink(near, fuzzSpecs, patience)
		store := NewStore(fuzzSpecs)
		idle := store.Buckets[2].Gradient.Values
		idle[0], idle[ChunkElements] = 7, 7
		futures := []*Future{l.PushPull(0, store.Buckets[0]), l.PushPull(0, store.Buckets[1])}
		_, err := io.ReadFull(far, make([]byte, 2*HeaderSize+len(fuzzDense)))
		commtest.Must(t, err)
		speak(far, stream)
		for _, future := range futures {
			if err := future.Wait(); err != nil && !strings.Contains(err.Error(), "server9") {
				t.Fatalf("a push ended with %v, which does not name server9", err)
			}
		}
		if idle[0] != 7 || idle[ChunkElements] != 7 {
			t.Fatal("an answer changed a bucket that was not pushed")
		}
		if g := &store.Buckets[1].Gradient; futures[1].Wait() == nil {
			commtest.Must(t, tensor.CheckRows(g.Rows, fuzzSpecs[1].TableRows))
		}
		_ = l.Close()
	})
}

func FuzzRing(f *testing.F) {
	piece := frame(Header{Op: opScatter}, fuzzDense[:8])
	result := frame(Header{Op: opGather, Arg: 1}, fuzzDense[:8])
	rows := frame(Header{Op: opRows, Bucket: 1, Rows: 2}, fuzzRows, fuzzDense)
	castRows := frame(Header{Op: opBroadcast, Batch: 1, Bucket: 1, Rows: 2, Arg2: 1}, fuzzRows)
	cast := frame(Header{Op: opBroadcast, Batch: 1, Bucket: 1, Arg: 1, Arg2: 1}, fuzzDense)
	barrier := frame(Header{Op: opBarrier, Bucket: BarrierIndex})
	good := []func(*Header) []byte{piece, result, rows, castRows, cast, barrier}
	bending(f, good, func(t *testing.T, stream []byte) {
		defer inTime("a ring")()
		near, far := socketPair(t, "trainer0", "trainer1")
		r := NewRing(Links{"trainer0", []*Conn{nil, near}, patience}, 0, fuzzSpecs)
		store := NewStore(fuzzSpecs)
		var peer sync.WaitGroup
		peer.Go(func() { speak(far, stream) })
		futures := []*Future{r.AllReduce(0, store.Buckets[0]), r.AllReduce(0, store.Buckets[1])}
		for _, future := range futures {
			_ = future.Wait()
		}
		futures = append(futures, r.Broadcast(1, store.Buckets[1], 1), Completed(r.Barrier()))
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
