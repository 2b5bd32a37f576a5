package convert

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/sdk/proto"
)

// A message that is not a valid exchange is refused with a clear error.
func TestExchangesThatAreNone(t *testing.T) {
	for want, x := range map[string]*proto.Exchange{
		"there is no operation 0":  {},
		"there is no operation 99": {Operation: 99},
		"it has 4100 bytes": {Operation: 1,
			Sent: &proto.Slice{Values: make([]byte, 4092), Rows: []int32{1, 2}}},
		"values end within a number":  {Operation: 1, Got: &proto.Slice{Values: make([]byte, 7)}},
		"has 4097 bytes, but must ha": {Operation: 1, Got: &proto.Slice{Values: make([]byte, 4097)}},
	} {
		t.Run(want, func(t *testing.T) {
			_, err := PieceFromProto(&proto.CollectReply{Piece: &proto.CollectReply_Exchange{Exchange: x}})
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v is no %q", err, want)
			}
		})
	}
}

// Gradients keep every bit when they are sent over gRPC.
func TestListsOfGradientsCrossGRPC(t *testing.T) {
	lists := [][][]float32{{{1, float32(math.Inf(1))}, {-0.5, 3}}, {{}}, {{7}}}
	got, err := CombineFromProto(CombineToProto(lists))
	if d := cmp.Diff(lists, got); d != "" || err != nil {
		t.Error(err, d)
	}
	if _, err := CombineFromProto(&proto.CombineRequest{Lists: []*proto.Gradients{{Gradients: [][]byte{{1}}}}}); err ==
		nil {
		t.Error("a number of one byte passes")
	}
}
