package batches

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/shm"
	"github.com/psbench/psbench/internal/comm/wire"
	"github.com/psbench/psbench/internal/host/call"
	"github.com/psbench/psbench/internal/host/hosttest"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/sdk"
)

// crossLink sends a share from a data process to a trainer and returns the received batches.
func crossLink(t *testing.T, transport string, share []sdk.Batch) []sdk.Batch {
	t.Helper()
	trainer, data := hosttest.Pair(t)
	p := hosttest.Process(t, hosttest.Folder(t), nil,
		process.Config{Name: "trainer0", Transport: transport, Listen: "127.0.0.1"})
	sent := make(chan error, 1)
	go func() { sent <- SendShare(p, data, share) }()
	got, err := receiveShare(p, trainer)
	hosttest.Must(t, err)
	hosttest.Must(t, <-sent)
	return got
}

func TestSharesCrossALink(t *testing.T) {
	shares := [][]sdk.Batch{
		nil,
		{{Indices: []int64{1, 2}, Offsets: []int64{0, 2, 2}, Targets: []int64{0, 1}},
			{Indices: []int64{3}, Offsets: []int64{0, 1}, Targets: []int64{2}}},
		{{Offsets: []int64{0, 0}, Targets: []int64{4, 5}}}, // an empty bag, two targets
		{{Features: []float32{1, 2, 3}, Targets: []int64{7}},
			{Features: []float32{4, 5, 6, 7, 8, 9}, Targets: []int64{8, 9}}},
		{{Indices: []int64{1}, Offsets: []int64{0, 1}, Features: []float32{1, 2}, Targets: []int64{0}}, {}},
		{{Features: []float32{1, 2, 3}, FloatTargets: []float32{-0.5}, TargetWidth: 1},
			{Features: []float32{4, 5, 6, 7, 8, 9}, FloatTargets: []float32{1, 2}, TargetWidth: 1}},
		{{Indices: []int64{3}, Offsets: []int64{0, 1, 1, 1}, FloatTargets: []float32{1, 2, 3, 4, 5, 6, 7, 8, 9},
			TargetWidth: 3}},
	}
	for _, transport := range hosttest.Transports {
		for _, share := range shares {
			if d := cmp.Diff(share, crossLink(t, transport, share), cmpopts.EquateEmpty()); d != "" {
				t.Errorf("%s: %s", transport, d)
			}
		}
	}
}

// Writing a share and viewing it returns the same batches. The share takes as many words as
// shareWords says.
func TestViewShareIsTheInverse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		share, err := Cut(hosttest.AnySamples(t), 2)
		hosttest.Must(t, err)
		words := make([]int64, shareWords(share))
		writeShare(words, share)
		got, err := viewShare(words)
		hosttest.Must(t, err)
		if d := cmp.Diff(share, got, cmpopts.EquateEmpty()); d != "" {
			t.Fatal(d)
		}
	})
}

// sameWords treats a nil list and an empty list as equal.
var sameWords = cmp.Transformer("words", func(x []int64) []int64 { return append([]int64{}, x...) })

// For any contents of a segment, viewShare returns an error or consistent batches that fill the
// segment.
func FuzzViewShare(f *testing.F) {
	add := func(words ...int64) { f.Add(tensor.Int64Bytes(words)) }
	add()
	add(0)
	add(1, 2, 2, 1, 0, 0, 2, 7, 8, 1)                   // one bag of two
	add(1, 2, 2, 1, 0, 0, 3, 7, 8, 1)                   // its offset is too large
	add(1, 2, 0, 3, 0, 0, 0, 1, 2, 3)                   // three targets
	add(1, 0, 0, 1, 3, 5, 0x3f8000003f800000, 1)        // three numbers
	add(1, 0, 0, 1, 3, 5, 0x3f8000003f800000, 1<<40)    // the unused half word is not zero
	add(1, 0, 0, 2, 3, 5, 5, 0x3f8000003f800000, 1)     // three numbers for two samples
	add(2, 1, 0, 0, 0, 2, 0, 1, 0, 0, 0, 0, 4)          // an empty batch and an empty bag
	add(1, 0, 2, 1, 0, 7, 8, 1)                         // indices without offsets
	add(-1)                                             // a negative count of batches, but nothing else
	add(-1, 1, 0, 0, 0, 3, 1, 0x3f8000003f800000, 1, 1) // three features, and a number as the target
	add(-1, 2, 0, 0, 0, 0, 3, 1, 2)                     // three numeric targets where each sample has two
	add(-1, 0, 0, 0, 0, 0, 0)                           // no width
	add(-1<<63, 1<<62, 1, 1)                            // neither the count nor the width is valid
	add(-1, math.MaxInt32, 0, 0, 0, 0, 1, 1)            // a wide target
	add(1<<62, 1, 2)                                    // 4 * 2^62 overflows to 0
	add(1, 1<<62, 1<<62, 1<<62, 1<<62)                  // the sum of these lengths overflows too
	add(1, 0, 0, 0, math.MaxInt64)                      // this length plus 1 overflows
	add(1, 2, 1, -1, 0, 0, 0)                           // negative
	f.Fuzz(func(t *testing.T, raw []byte) {
		words := make([]int64, len(raw)/8)
		copy(tensor.Int64Bytes(words), raw)
		share, err := viewShare(words)
		if err != nil {
			return
		}
		again := make([]int64, shareWords(share))
		writeShare(again, share)
		clearUnused(words, share)
		if d := cmp.Diff(words, again, sameWords); d != "" {
			t.Error(d)
		}
		for i := range share {
			b := &share[i]
			for k := range len(b.Offsets) - 1 {
				b.Bag(k)
			}
			if n := b.Size(); n > 0 &&
				(len(b.Features)%n != 0 || len(b.Targets)%n != 0 || len(b.Targets)+len(b.FloatTargets) < n ||
					len(b.FloatTargets) != n*b.TargetWidth) {
				t.Errorf("%d samples have %d features and %d targets", n, len(b.Features), len(b.Targets))
			}
		}
	})
}

// clearUnused clears the unused half word after each list with an odd number of floats.
func clearUnused(words []int64, share []sdk.Batch) {
	width := widthOf(share)
	at := int64(1 + min(width, 1) + listsOf(width)*len(share))
	for i := range share {
		n := LengthsOf(&share[i])
		at += n[0] + n[1] + n[2]
		for _, floats := range n[3:] {
			at += floatWords(floats)
			if floats%2 == 1 {
				words[at-1] &= 0xffffffff
			}
		}
	}
}

// A trainer accepts only a sealed segment of the announced size.
func TestShareSegmentRefusesLies(t *testing.T) {
	p := hosttest.Process(t, hosttest.Folder(t), nil, process.Config{Name: "trainer0", Transport: "shm"})
	for want, c := range map[string]struct {
		announced int64
		seal      bool
	}{
		"a segment of 0 bytes":          {0, true},
		"a segment of -8 bytes":         {-8, true},
		"is not sealed against writing": {8, false},
		"1 words cannot begin":          {8, true},
	} {
		trainer, data := hosttest.Pair(t)
		hosttest.Must(t, data.Bound(hosttest.Patience))
		segment, err := shm.New("a lie", 8, false)
		hosttest.Must(t, err)
		segment.Bytes()[0] = 5
		if c.seal {
			hosttest.Must(t, segment.SealWriting())
		}
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			_ = data.Send(&wire.Header{Op: opShareSegment, Arg: c.announced})
			_ = data.SendSegments(segment)
		}()
		if _, err := receiveShare(p, trainer); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		_ = trainer.Close()
		<-sent
		hosttest.Must(t, segment.Close())
	}
}

// Reading any header and payload returns an error or a consistent batch. Reading neither panics nor
// allocates memory for data that never comes.
func FuzzReadBatch(f *testing.F) {
	add := func(words ...int64) { f.Add(tensor.Int64Bytes(words), int32(0)) }
	wide := func(width int32, words ...int64) { f.Add(tensor.Int64Bytes(words), width) }
	wide(1, 0, 0, 0, 0, 2, 0x3f8000003f800000)
	wide(2, 2, 0, 0, 0, 2, 0, 0, 0x3f8000003f800000)
	wide(3, 0, 0, 0, 0, 2, 0x3f8000003f800000)
	wide(-1, 0, 0, 0, 0, 0)
	wide(1, 0, 0, 1, 0, 0, 7) // a class
	add()
	add(0, 0, 0, 0)
	add(2, 2, 1, 0, 0, 2, 7, 8, 1)
	add(2, 2, 1, 0, 0, 1<<40, 7, 8, 1)
	add(2, 0, 2, 0, 0, 0, 1, 2)
	add(0, 0, 1, 2, 5, 0x3f8000003f800000)
	add(0, 0, 2, 2, 5, 5, 0x3f8000003f800000)
	add(0, 0, -1, 2, 0)
	add(1<<61, 0, 0, 0) // 8 * 2^61 overflows to 0
	add(0, 0, 0, 1<<62) // 4 * 2^62 too
	add(1<<60, 1<<60, 0, 0)
	f.Fuzz(func(t *testing.T, payload []byte, width int32) {
		trainer, data := linkPair(t)
		hosttest.Must(t, trainer.SetReadDeadline(time.Now().Add(hosttest.Patience)))
		go func() {
			_ = data.Conn.Send(&wire.Header{Op: OpBatch, Rows: width}, payload)
			_ = data.Close()
		}()
		var h wire.Header
		hosttest.Must(t, call.Expect(trainer, &h, OpBatch))
		var b Memory
		defer func() { hosttest.Must(t, b.Close()) }()
		if err := b.Read(trainer, &h); err != nil {
			return
		}
		n := LengthsOf(&b.Batch)
		var again []byte
		for _, list := range [][]int64{n[:listsOf(int(width))], b.Offsets, b.Indices, b.Targets} {
			again = append(again, tensor.Int64Bytes(list)...)
		}
		again = append(append(again, tensor.Float32Bytes(b.Features)...), tensor.Float32Bytes(b.FloatTargets)...)
		if d := cmp.Diff(payload, again, cmpopts.EquateEmpty()); d != "" {
			t.Error(d)
		}
		for i := range len(b.Offsets) - 1 {
			b.Bag(i)
		}
	})
}
