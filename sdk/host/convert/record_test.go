package convert

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	gproto "google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/psbench/psbench/internal/packed"
	"github.com/psbench/psbench/sdk/host/record"
	"github.com/psbench/psbench/sdk/proto"
)

// anyPiece draws a piece of any kind.
func anyPiece(t *rapid.T) record.Piece {
	n, x, text := rapid.Int64(), rapid.Float64(), rapid.StringN(0, 8, 32)
	floats := rapid.SliceOfN(x, 0, 4)
	return rapid.OneOf(
		rapid.Custom(func(t *rapid.T) record.Piece {
			var list packed.List
			for range rapid.IntRange(1, 3).Draw(t, "measurements") {
				small := rapid.Int64Range(-1<<61, 1<<61)
				list.Add(packed.Measurement{A: small.Draw(t, "a"), B: small.Draw(t, "b"), StartNS: small.Draw(t, "start"), DurationNS: small.Draw(t, "duration")})
			}
			return &record.Series{Type: text.Draw(t, "type"), Name: text.Draw(t, "name"), Measurements: list.Chunks()[0]}
		}),
		rapid.Custom(func(t *rapid.T) record.Piece { return record.Losses(floats.Draw(t, "losses")) }),
		rapid.Custom(func(t *rapid.T) record.Piece { return anyWork(t) }),
		rapid.Custom(func(t *rapid.T) record.Piece {
			e := &record.Evaluation{Epoch: int(rapid.Int32().Draw(t, "epoch")), Samples: rapid.Int().Draw(t, "samples"), LossSum: x.Draw(t, "sum")}
			if rapid.Bool().Draw(t, "classified") {
				e.Correct = new(rapid.Int().Draw(t, "correct"))
			}
			for range rapid.IntRange(0, 3).Draw(t, "bins") {
				e.Bins = append(e.Bins, record.Bin{Bin: rapid.Int32().Draw(t, "bin"), Positives: n.Draw(t, "positives"), Negatives: n.Draw(t, "negatives")})
			}
			return e
		}),
		rapid.Custom(func(t *rapid.T) record.Piece {
			return &record.NonFinite{
				Epoch: n.Draw(t, "epoch"), Batch: n.Draw(t, "batch"), Loss: x.Draw(t, "loss"), Losses: n.Draw(t, "losses"),
				Parameter: text.Draw(t, "parameter"), Gradient: text.Draw(t, "gradient"),
			}
		}),
		rapid.Custom(func(t *rapid.T) record.Piece {
			return &record.Summary{
				Name: text.Draw(t, "name"), Elements: rapid.Int().Draw(t, "elements"), DeltaSum: x.Draw(t, "sum"), DeltaSumSq: x.Draw(t, "squares"),
				DeltaHead: floats.Draw(t, "change"), Head: floats.Draw(t, "head"),
			}
		}),
		rapid.Custom(func(t *rapid.T) record.Piece { return record.PeakRSS(n.Draw(t, "bytes")) }),
	).Draw(t, "piece")
}

func anyWork(t *rapid.T) *record.Work {
	n := rapid.Int64()
	return &record.Work{StartNS: n.Draw(t, "start"), EndNS: n.Draw(t, "end"), EvaluatedNS: n.Draw(t, "evaluated"), Samples: n.Draw(t, "samples")}
}

// crossed is a message after it was encoded and decoded.
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
		if d := cmp.Diff(piece, got, cmpopts.EquateEmpty(), cmp.AllowUnexported(packed.Chunk{})); d != "" {
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
		if got := PassFromProto(PassToProto(p)); got != p {
			t.Errorf("pass %d became %d", p, got)
		}
	}
}

func TestWhatIsNoPiece(t *testing.T) {
	for want, reply := range map[string]*proto.CollectReply{
		"nothing where a piece of its record belongs": {},
		"a series a, b that cannot be: measurement 1 is cut off": {Piece: &proto.CollectReply_Series{
			Series: &proto.Series{Type: "a", Name: "b", Measurements: []byte{0, 0, 0xff}},
		}},
		`a series "\x1b[31m", "" that cannot be: measurement 0 has a number beyond 2^61`: {Piece: &proto.CollectReply_Series{
			Series: &proto.Series{Type: "\x1b[31m", Measurements: []byte{7 << 5, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}},
		}},
		"an evaluation that cannot be: epoch 2 has columns of unequal length": {Piece: &proto.CollectReply_Evaluation{Evaluation: &proto.Evaluation{
			Epoch: 2, Samples: 1, Bins: []int32{1}, Positives: []int64{1},
		}}},
	} {
		if piece, err := PieceFromProto(reply); err == nil || err.Error() != want || piece != nil {
			t.Errorf("got %v, %v, want %q", piece, err, want)
		}
	}
}
