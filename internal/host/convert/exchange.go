package convert

import (
	"errors"
	"fmt"
	"slices"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/host/checked"
	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/sdk/proto"
)

// CheckFromProto returns the seed for drawing the places of slices. CheckFromProto returns nil if
// exchanges are not checked.
func CheckFromProto(c *proto.Check) *uint64 {
	if c == nil {
		return nil
	}
	return &c.Seed
}

func exchangeToProto(x *record.Exchange) *proto.Exchange {
	return &proto.Exchange{
		Link: x.Link, Operation: proto.Exchange_Operation(x.Operation), Batch: x.Batch, // #nosec G115 -- one of few
		Bucket: int32(x.Bucket), Number: int32(x.Number), Root: int32(x.Root), // #nosec G115 -- indices
		Sent: sliceToProto(&x.Sent), Got: sliceToProto(&x.Got), Edges: x.Edges,
	}
}

func exchangeFromProto(x *proto.Exchange) (record.Piece, error) {
	out := &record.Exchange{
		Link: x.GetLink(), Operation: record.Operation(x.GetOperation()), Batch: x.GetBatch(),
		Bucket: int(x.GetBucket()), Number: int(x.GetNumber()), Root: int(x.GetRoot()), Edges: x.GetEdges(),
	}
	if _, ok := record.Operations[out.Operation]; !ok {
		return nil, fmt.Errorf("an invalid exchange over link %s: there is no operation %d",
			quote.Word(x.GetLink()), out.Operation)
	}
	var err error
	if out.Sent, err = sliceFromProto(x.GetSent()); err == nil {
		out.Got, err = sliceFromProto(x.GetGot())
	}
	return out, err
}

func sliceToProto(s *record.Slice) *proto.Slice {
	return &proto.Slice{Values: slices.Clone(tensor.Float32Bytes(s.Values)), Rows: slices.Clone(s.Rows),
		Until: int64(s.Until)}
}

func sliceFromProto(s *proto.Slice) (record.Slice, error) {
	if n := len(s.GetValues()) + 4*len(s.GetRows()); n > checked.SliceBytes {
		return record.Slice{},
			fmt.Errorf("an invalid slice of an exchange: it has %d bytes, but must have %d at most", n,
				checked.SliceBytes)
	}
	values, err := ValuesFromBytes(s.GetValues())
	return record.Slice{Values: values, Rows: s.GetRows(), Until: int(s.GetUntil())}, err
}

// ValuesFromBytes converts the bytes of a gRPC message to float32 numbers.
func ValuesFromBytes(b []byte) ([]float32, error) {
	if len(b)%4 != 0 {
		return nil, errors.New("an invalid slice of an exchange: its values end within a number")
	}
	values := make([]float32, len(b)/4)
	copy(tensor.Float32Bytes(values), b)
	return values, nil
}

// CombineFromProto returns the gradients that an elementwise server is asked to combine.
func CombineFromProto(req *proto.CombineRequest) ([][][]float32, error) {
	var lists [][][]float32
	for _, l := range req.GetLists() {
		var list [][]float32
		for _, b := range l.GetGradients() {
			values, err := ValuesFromBytes(b)
			if err != nil {
				return nil, err
			}
			list = append(list, values)
		}
		lists = append(lists, list)
	}
	return lists, nil
}

// CombineToProto is the inverse of CombineFromProto.
func CombineToProto(lists [][][]float32) *proto.CombineRequest {
	req := &proto.CombineRequest{}
	for _, list := range lists {
		gradients := &proto.Gradients{}
		for _, values := range list {
			gradients.Gradients = append(gradients.Gradients, tensor.Float32Bytes(values))
		}
		req.Lists = append(req.Lists, gradients)
	}
	return req
}
