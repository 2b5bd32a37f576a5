package sdk

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/shm"
	"github.com/psbench/psbench/sdk/proto"
)

// numbered are n batches of one sample whose target is the batch's number.
func numbered(n int) []Batch {
	out := make([]Batch, n)
	for i := range out {
		out[i].Append([]int64{0}, int64(i))
	}
	return out
}

// numbers are the numbers of the batches of each share.
func numbers(shares [][]Batch) [][]int64 {
	out := make([][]int64, len(shares))
	for t, share := range shares {
		for _, b := range share {
			out[t] = append(out[t], b.Targets...)
		}
	}
	return out
}

func TestDealBatches(t *testing.T) {
	for name, c := range map[string]struct {
		batches int
		sets    [][]int
		want    [][]int64
		dropped int
		err     string
	}{
		"even":            {6, [][]int{{0, 1, 2}}, [][]int64{{0, 3}, {1, 4}, {2, 5}}, 0, ""},
		"uneven":          {8, [][]int{{0, 1, 2}}, [][]int64{{0, 3}, {1, 4}, {2, 5}}, 2, ""},
		"alone":           {5, [][]int{{0}, {1}}, [][]int64{{0, 2, 4}, {1, 3}}, 0, ""},
		"a set of two":    {7, [][]int{{0, 1}, {2, 3}}, [][]int64{{0, 4}, {1, 5}, {2}, {3}}, 1, ""},
		"one each":        {2, [][]int{{0, 1}}, [][]int64{{0}, {1}}, 0, ""},
		"too few":         {2, [][]int{{0, 1, 2}}, nil, 0, "too few batches (2) for 3 trainers"},
		"too few for one": {3, [][]int{{0, 1}, {2, 3}}, nil, 0, "too few batches (3) for 4 trainers"},
		"none":            {0, [][]int{{0}}, nil, 0, "too few batches (0)"},
	} {
		shares, dropped, err := dealBatches(numbered(c.batches), c.sets)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v, want %q", name, err, c.err)
			}
			continue
		}
		if d := cmp.Diff(c.want, numbers(shares)); err != nil || d != "" || dropped != c.dropped {
			t.Errorf("%s: %v, %d dropped, %s", name, err, dropped, d)
		}
	}
}

func TestDealBatchesLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var sets [][]int
		trainers := 0
		for range rapid.IntRange(1, 4).Draw(t, "sets") {
			var set []int
			for range rapid.IntRange(1, 3).Draw(t, "members") {
				set, trainers = append(set, trainers), trainers+1
			}
			sets = append(sets, set)
		}
		n := rapid.IntRange(trainers, 40).Draw(t, "batches")
		shares, dropped, err := dealBatches(numbered(n), sets)
		if err != nil {
			t.Fatal(err)
		}
		for trainer, share := range numbers(shares) {
			for i, number := range share {
				if number != int64(i*trainers+trainer) {
					t.Fatalf("batch %d of trainer %d is number %d", i, trainer, number)
				}
			}
			dropped += len(share)
		}
		if dropped != n {
			t.Fatalf("%d of %d batches are dealt or dropped", dropped, n)
		}
		for _, set := range sets {
			least := n
			for _, trainer := range set {
				least = min(least, (n-trainer+trainers-1)/trainers)
			}
			for _, trainer := range set {
				if len(shares[trainer]) != least {
					t.Fatalf("trainer %d of set %v has %d batches, the poorest %d", trainer, set, len(shares[trainer]), least)
				}
			}
		}
	})
}

func samples(bags [][]int64, targets ...int64) *Samples {
	s := &Samples{}
	for i, bag := range bags {
		s.Append(bag, targets[i])
	}
	return s
}

func TestValidate(t *testing.T) {
	m := &proto.ModelDescription{Rows: 10, Classes: 3}
	torn := samples([][]int64{{1}}, 0)
	torn.Offsets = []int64{0, 5}
	named := samples([][]int64{{1}, {2, 10}}, 0, 0)
	named.Origin = func(sample, position int) string { return "a.csv, line 7" }
	for want, s := range map[string]*Samples{
		"":                          samples([][]int64{{0, 9}, {}}, 0, 2),
		"the data holds no samples": {},
		"sample 0, position 1: index 10 is outside the embedding's range of 0 to 9":     samples([][]int64{{1, 10}}, 0),
		"sample 1, position 0: index -1 is outside":                                     samples([][]int64{{1}, {-1}}, 0, 0),
		"sample 1, position 1 (a.csv, line 7): index 10":                                named,
		"sample 0: target 3 is outside the model's classes of 0 to 2":                   samples([][]int64{{1}}, 3),
		"the data does not hold together: the last offset is 5 but there are 1 indices": torn,
	} {
		err := s.validate(m)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if err := (*Samples)(nil).validate(m); err == nil {
		t.Error("no samples at all are valid")
	}
}

func TestCut(t *testing.T) {
	s := samples([][]int64{{1, 2}, {}, {3}, {4}, {5, 5}}, 0, 1, 2, 3, 4)
	got := s.cut(2)
	want := []Batch{
		{Indices: []int64{1, 2}, Offsets: []int64{0, 2, 2}, Targets: []int64{0, 1}},
		{Indices: []int64{3, 4}, Offsets: []int64{0, 1, 2}, Targets: []int64{2, 3}},
		{Indices: []int64{5, 5}, Offsets: []int64{0, 2}, Targets: []int64{4}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if n := got[2].distinct(); n != 1 {
		t.Errorf("a bag of 5, 5 has %d distinct indices", n)
	}
}

func TestSharesCrossALink(t *testing.T) {
	for _, transport := range tested {
		for _, share := range [][]Batch{samples([][]int64{{1, 2}, {}, {3}}, 0, 1, 2).cut(2), {}} {
			trainer, data := pair(t)
			st := &station{req: &proto.ConfigureRequest{Transport: string(transport)}, timeout: patience}
			sent := make(chan error, 1)
			go func() { sent <- st.sendShare(data, share) }()
			got, err := st.receiveShare(trainer)
			must(t, err)
			must(t, <-sent)
			if d := cmp.Diff(share, got, sameWords, cmpopts.EquateEmpty()); d != "" {
				t.Errorf("%s: %s", transport, d)
			}
			for _, segment := range st.links {
				must(t, segment.Close())
			}
		}
	}
}

// sameWords makes no difference between nothing and an empty list.
var sameWords = cmp.Transformer("words", func(x []int64) []int64 { return append([]int64{}, x...) })

// Whatever a segment holds, viewShare gives batches that hold together and fill it,
// or an error.
func FuzzViewShare(f *testing.F) {
	add := func(words ...int64) { f.Add(comm.Int64Bytes(words)) }
	add()
	add(0)
	add(1, 1, 2, 0, 2, 7, 8, 1)
	add(1, 1, 2, 0, 3, 7, 8, 1)
	add(2, 1, 0, 0, 0, 0, 0, 4, 0)
	add(-1)
	add(1<<62, 1, 2)
	add(1, 1<<62, 1<<62, 0)
	add(1, -1, 2, 0)
	f.Fuzz(func(t *testing.T, raw []byte) {
		words := make([]int64, len(raw)/8)
		copy(comm.Int64Bytes(words), raw)
		share, err := viewShare(words)
		if err != nil {
			return
		}
		again := make([]int64, shareWords(share))
		writeShare(again, share)
		if d := cmp.Diff(words, again, sameWords); d != "" {
			t.Error(d)
		}
		for i := range share {
			for k := range share[i].Size() {
				share[i].Bag(k)
			}
		}
	})
}

// A trainer takes nothing but a sealed segment of the size that was announced.
func TestShareSegmentRefusesLies(t *testing.T) {
	st := &station{req: &proto.ConfigureRequest{Transport: string(comm.Shm)}, timeout: patience}
	for want, c := range map[string]struct {
		announced int64
		seal      bool
	}{
		"a segment of 0 bytes":          {0, true},
		"a segment of -8 bytes":         {-8, true},
		"is not sealed against writing": {8, false},
		"1 words cannot begin":          {8, true},
	} {
		trainer, data := pair(t)
		must(t, bound(data, patience))
		segment, err := shm.New("a lie", 8, false)
		must(t, err)
		segment.Bytes()[0] = 5
		if c.seal {
			must(t, segment.SealWriting())
		}
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			_ = data.Send(&comm.Header{Op: opShareSegment, Arg: c.announced})
			_ = data.SendSegment(segment)
		}()
		if _, err := st.receiveShare(trainer); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		_ = trainer.Close()
		<-sent
		must(t, segment.Close())
	}
}

// Whatever a header and its payload say, readBatch gives a batch that holds
// together or an error, without a panic and without room for what never comes.
func FuzzReadBatch(f *testing.F) {
	f.Add(int64(1), int64(1), []byte(strings.Repeat("\x00", 32)))
	f.Add(int64(1), int64(2), comm.Int64Bytes([]int64{0, 2, 7, 8, 1}))
	f.Add(int64(1), int64(2), comm.Int64Bytes([]int64{0, 1 << 40, 7, 8, 1}))
	f.Add(int64(-1), int64(1), []byte{})
	f.Add(int64(1)<<60, int64(0), comm.Int64Bytes([]int64{0})) // 16 * 2^60 overflows to 0
	f.Add(int64(0), int64(1)<<61, comm.Int64Bytes([]int64{0})) // 8 * 2^61 too
	f.Add(int64(1)<<59, int64(1)<<60, comm.Int64Bytes([]int64{0}))
	f.Fuzz(func(t *testing.T, size, indices int64, payload []byte) {
		trainer, data := callPair(t)
		must(t, trainer.SetReadDeadline(time.Now().Add(patience)))
		go func() {
			_ = data.Send(&comm.Header{Op: opBatch, Arg: size, Arg2: indices}, payload)
			_ = data.Close()
		}()
		var h comm.Header
		must(t, expect(trainer, &h, opBatch))
		var b Batch
		if err := readBatch(trainer, &h, &b); err != nil {
			return
		}
		total := 0
		for i := range b.Size() {
			total += len(b.Bag(i))
		}
		if int64(b.Size()) != size || total != len(b.Indices) || int64(total) != indices {
			t.Errorf("a batch of %d and %d became %+v", size, indices, b)
		}
	})
}
