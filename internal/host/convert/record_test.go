package convert

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	gproto "google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/internal/metric"
	"github.com/psbench/psbench/internal/packed"
	"github.com/psbench/psbench/sdk/proto"
)

// anyPiece draws a piece of any kind.
func anyPiece(t *rapid.T) record.Piece {
	n, x, text := rapid.Int64(), rapid.Float64(), rapid.StringN(0, 8, 32)
	floats := rapid.SliceOfN(x, 0, 4)
	return rapid.OneOf(
		rapid.Custom(func(t *rapid.T) record.Piece {
			var list packed.List[packed.Measurement]
			for range rapid.IntRange(1, 3).Draw(t, "measurements") {
				small := rapid.Int64Range(-1<<61, 1<<61)
				list.Add(packed.Measurement{A: small.Draw(t, "a"), B: small.Draw(t, "b"),
					StartNS: small.Draw(t, "start"), DurationNS: small.Draw(t, "duration")})
			}
			return &record.Series{Type: text.Draw(t, "type"), Name: text.Draw(t, "name"),
				Measurements: list.Chunks()[0]}
		}),
		rapid.Custom(func(t *rapid.T) record.Piece {
			return &record.Counter{Head: anyHead(t), Value: rapid.Int64Range(0, metric.MostCount).Draw(t, "value")}
		}),
		rapid.Custom(func(t *rapid.T) record.Piece {
			var list packed.List[packed.Observation]
			for range rapid.IntRange(1, 3).Draw(t, "observations") {
				small := rapid.Int64Range(-1<<61, 1<<61)
				list.Add(packed.Observation{A: small.Draw(t, "a"), B: small.Draw(t, "b"), Value: x.Draw(t, "value")})
			}
			return &record.Gauge{Head: anyHead(t), Observations: list.Chunks()[0]}
		}),
		rapid.Custom(func(t *rapid.T) record.Piece {
			h := metric.NewHistogram([]float64{-1, 0, 1e300}[:rapid.IntRange(1, 3).Draw(t, "bounds")])
			for i := range h.Counts {
				h.Counts[i] = rapid.Int64Range(0, 1<<40).Draw(t, "count")
			}
			h.NaN = rapid.Int64Range(0, 1<<40).Draw(t, "nan")
			return &record.Histogram{Head: anyHead(t), Histogram: h}
		}),
		rapid.Custom(func(t *rapid.T) record.Piece {
			return record.Facts(rapid.MapOf(text, text).Draw(t, "facts"))
		}),
		rapid.Custom(func(t *rapid.T) record.Piece { return record.Losses(floats.Draw(t, "losses")) }),
		rapid.Custom(func(t *rapid.T) record.Piece { return anyWork(t) }),
		rapid.Custom(func(t *rapid.T) record.Piece {
			e := &record.Evaluation{Epoch: int(rapid.Int32().Draw(t, "epoch")), Samples: rapid.Int().Draw(t, "samples"),
				LossSum: x.Draw(t, "sum")}
			if rapid.Bool().Draw(t, "classified") {
				e.Correct = new(rapid.Int().Draw(t, "correct"))
			}
			for range rapid.IntRange(0, 3).Draw(t, "bins") {
				e.Bins = append(e.Bins, record.Bin{Bin: rapid.Int32().Draw(t, "bin"), Positives: n.Draw(t, "positives"),
					Negatives: n.Draw(t, "negatives")})
			}
			return e
		}),
		rapid.Custom(func(t *rapid.T) record.Piece {
			return &record.NonFinite{
				Epoch: n.Draw(t, "epoch"), Batch: n.Draw(t, "batch"), Loss: x.Draw(t, "loss"),
				Losses:    n.Draw(t, "losses"),
				Parameter: text.Draw(t, "parameter"), Gradient: text.Draw(t, "gradient"),
			}
		}),
		rapid.Custom(func(t *rapid.T) record.Piece {
			return &record.Replica{Checksums: rapid.SliceOfN(rapid.Uint32(), 1, 4).Draw(t, "checksums")}
		}),
		rapid.Custom(func(t *rapid.T) record.Piece {
			return &record.Summary{
				Name: text.Draw(t, "name"), Elements: rapid.Int().Draw(t, "elements"), DeltaSum: x.Draw(t, "sum"),
				DeltaSumSq: x.Draw(t, "squares"),
				DeltaHead:  floats.Draw(t, "change"), Head: floats.Draw(t, "head"),
			}
		}),
		rapid.Custom(func(t *rapid.T) record.Piece {
			small := rapid.Int32Range(0, 1<<30)
			slice := func(name string) record.Slice {
				return record.Slice{
					Values: rapid.SliceOfN(rapid.Float32(), 0, 512).Draw(t, name),
					Rows:   rapid.SliceOfN(rapid.Int32(), 0, 512).Draw(t, name+" rows"),
					Until:  rapid.Int().Draw(t, name+" until"),
				}
			}
			return &record.Exchange{
				Link:      text.Draw(t, "link"),
				Operation: record.Operation(rapid.IntRange(1, len(record.Operations)).Draw(t, "operation")),
				Batch:     n.Draw(t, "batch"),
				Bucket:    int(small.Draw(t, "bucket")), Number: int(small.Draw(t, "number")),
				Root: int(small.Draw(t, "root")), Sent: slice("sent"), Got: slice("got"),
			}
		}),
		rapid.Custom(func(t *rapid.T) record.Piece {
			return &record.Checked{SpentNS: n.Draw(t, "spent"), Operations: n.Draw(t, "operations")}
		}),
		rapid.Custom(func(t *rapid.T) record.Piece { return record.PeakRSS(n.Draw(t, "bytes")) }),
	).Draw(t, "piece")
}

func anyHead(t *rapid.T) metric.Head {
	text := rapid.StringN(0, 8, 32)
	return metric.Head{Type: text.Draw(t, "type"), Name: text.Draw(t, "name"),
		Unit: rapid.SampledFrom([]string{"1", "B", "%", "µs/row"}).Draw(t, "unit")}
}

func anyWork(t *rapid.T) *record.Work {
	n := rapid.Int64()
	return &record.Work{StartNS: n.Draw(t, "start"), EndNS: n.Draw(t, "end"), EvaluatedNS: n.Draw(t, "evaluated"),
		Samples: n.Draw(t, "samples")}
}

// crossed returns a message after encoding and decoding it.
func crossed[M gproto.Message](t *rapid.T, message, into M) M {
	raw, err := gproto.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	if err := gproto.Unmarshal(raw, into); err != nil {
		t.Fatal(err)
	}
	return into
}

func TestPiecesCrossGRPC(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		piece := anyPiece(t)
		got, err := PieceFromProto(crossed(t, PieceToProto(piece), &proto.CollectReply{}))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(piece, got, cmpopts.EquateEmpty(),
			cmp.AllowUnexported(packed.Chunk[packed.Measurement]{}, packed.Chunk[packed.Observation]{})); d != "" {
			t.Fatal(d)
		}
	})
}

func TestWorkCrossesGRPC(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		work := anyWork(t)
		if d := cmp.Diff(*work, WorkFromProto(crossed(t, WorkToProto(work), &proto.Work{}))); d != "" {
			t.Fatal(d)
		}
	})
	if WorkToProto(nil) != nil || WorkFromProto(nil) != (record.Work{}) {
		t.Error("no work became some")
	}
}

func TestPassesCrossGRPC(t *testing.T) {
	for _, p := range []record.Pass{record.NoPass, record.WarmUp, record.Measured} {
		t.Run(fmt.Sprint(p), func(t *testing.T) {
			if got := PassFromProto(PassToProto(p)); got != p {
				t.Errorf("pass %d became %d", p, got)
			}
		})
	}
}

func TestWhatIsNoPiece(t *testing.T) {
	head := &proto.Head{Type: "a", Name: "b", Unit: "B"}
	for want, reply := range map[string]*proto.CollectReply{
		"nothing where a piece of its record belongs": {},
		"a series a, b that cannot be: measurement 1 is cut off": {Piece: &proto.CollectReply_Series{
			Series: &proto.Series{Type: "a", Name: "b", Measurements: []byte{0, 0, 0xff}},
		}},
		`a series "\x1b[31m", "" that cannot be: measurement 0 has a number beyond 2^61`: {Piece: &proto.CollectReply_Series{
			Series: &proto.Series{Type: "\x1b[31m",
				Measurements: []byte{7 << 5, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}},
		}},
		"a counter a, b that cannot be: -1 must be from 0 to 2^53": {Piece: &proto.CollectReply_Counter{
			Counter: &proto.Counter{Head: head, Value: -1},
		}},
		"a counter \"\", \"\" that cannot be: unit \"\" must be a short word such as 1, B, rows, steps or %: at most 12 letters, digits and % / ^ _ -": {Piece: &proto.CollectReply_Counter{}},
		"a gauge a, b that cannot be: measurement 0 is cut off": {Piece: &proto.CollectReply_Gauge{
			Gauge: &proto.Gauge{Head: head, Observations: []byte{8 << 2}},
		}},
		"a histogram a, b that cannot be: bound 1 is 1, but bounds must ascend and the one before it is 2": {Piece: &proto.CollectReply_Histogram{
			Histogram: &proto.Histogram{Head: head, Bounds: []float64{2, 1}, Counts: []int64{0, 0, 0}},
		}},
		"a histogram a, b that cannot be: it has 1 counts, but 2 bounds make 3 buckets": {Piece: &proto.CollectReply_Histogram{
			Histogram: &proto.Histogram{Head: head, Bounds: []float64{1, 2}, Counts: []int64{7}},
		}},
		"an invalid evaluation: epoch 2 has columns of unequal length": {Piece: &proto.CollectReply_Evaluation{Evaluation: &proto.Evaluation{
			Epoch: 2, Samples: 1, Bins: []int32{1}, Positives: []int64{1},
		}}},
	} {
		t.Run(fmt.Sprintf("%.60s", want), func(t *testing.T) {
			if piece, err := PieceFromProto(reply); err == nil || err.Error() != want || piece != nil {
				t.Errorf("got %v, %v, want %q", piece, err, want)
			}
		})
	}
}

// Every message is refused, or becomes a piece that can be sent to the core again.
func FuzzPieceFromProto(f *testing.F) {
	head := &proto.Head{Type: "a", Name: "b", Unit: "B"}
	for _, reply := range []*proto.CollectReply{
		{Piece: &proto.CollectReply_Counter{Counter: &proto.Counter{Head: head, Value: 7}}},
		{Piece: &proto.CollectReply_Gauge{Gauge: &proto.Gauge{Head: head, Observations: []byte{0, 2 << 2, 0xc0, 0}}}},
		{Piece: &proto.CollectReply_Histogram{
			Histogram: &proto.Histogram{Head: head, Bounds: []float64{1, 2}, Counts: []int64{3, 4, 5}, Nan: 6},
		}},
		{Piece: &proto.CollectReply_Facts{Facts: &proto.Facts{Values: map[string]string{"dropped": "3"}}}},
		{Piece: &proto.CollectReply_Series{Series: &proto.Series{Type: "a", Name: "b", Measurements: []byte{0, 0}}}},
	} {
		raw, err := gproto.Marshal(reply)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var reply proto.CollectReply
		if gproto.Unmarshal(raw, &reply) != nil {
			return
		}
		piece, err := PieceFromProto(&reply)
		if err != nil {
			return
		}
		again, err := PieceFromProto(PieceToProto(piece))
		if err != nil {
			t.Fatalf("%v is refused the second time: %v", piece, err)
		}
		options := cmp.Options{cmpopts.EquateEmpty(), cmpopts.EquateNaNs(),
			cmp.AllowUnexported(packed.Chunk[packed.Measurement]{}, packed.Chunk[packed.Observation]{})}
		if d := cmp.Diff(piece, again, options); d != "" {
			t.Fatal(d)
		}
	})
}
