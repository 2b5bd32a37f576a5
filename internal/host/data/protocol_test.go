package data

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/wire"
	"github.com/psbench/psbench/internal/host/batches"
	"github.com/psbench/psbench/internal/host/fault"
	"github.com/psbench/psbench/internal/host/hosttest"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/internal/host/protocol/protocoltest"
	"github.com/psbench/psbench/sdk"
)

// tape acts as data in a companion that sends these samples and says where they came from.
func tape(s *sdk.Samples) func(*protocoltest.Part, wire.Header) error {
	lists := []*sdk.Samples{s}
	if s.HeldOut != nil {
		lists = append(lists, s.HeldOut)
	}
	return func(p *protocoltest.Part, h wire.Header) error {
		if h.Op == protocoltest.Origin {
			text := ""
			if o := lists[h.Bucket].Origin; o != nil {
				text = o(int(h.Arg), int(h.Arg2))
			}
			return p.Send(h, []byte(text)...)
		}
		for i, s := range lists {
			var cut []byte
			for _, n := range s.Batches {
				cut = binary.LittleEndian.AppendUint64(cut, uint64(n))
			}
			for role, list := range map[uint8][]byte{
				protocoltest.LoadedIndices:  tensor.Int64Bytes(s.Indices),
				protocoltest.LoadedOffsets:  tensor.Int64Bytes(s.Offsets),
				protocoltest.LoadedFeatures: tensor.Float32Bytes(s.Features),
				protocoltest.LoadedTargets:  tensor.Int64Bytes(s.Targets),
				protocoltest.Batches:        cut,
			} {
				if len(list) == 0 {
					continue
				}
				if err := p.Give(role, int32(i), list); err != nil {
					return err
				}
			}
		}
		return p.Send(wire.Header{Op: protocoltest.Load, Arg: int64(len(lists) - 1)})
	}
}

// beside makes the role for data in a companion; take plays the companion.
func beside(t *testing.T, timeout time.Duration, take func(*protocoltest.Part,
	wire.Header) error) (*Role, process.Peer, *protocoltest.Part) {
	t.Helper()
	dir := hosttest.Folder(t)
	part, peer := protocoltest.NewPart(t, dir, "data.part", take)
	return NewBeside(hosttest.Process(t, dir, nil,
			process.Config{Name: "data", Part: hosttest.Choice("data", "tape"), Timeout: timeout}), batches.Wanted{}),
		peer,
		part
}

// Data in a companion is partitioned like data in a psbench process. The companion receives the
// limits of the inputs. The link to the companion closes after partitioning.
func TestPartsLoad(t *testing.T) {
	in := hosttest.AnyInputs
	bags := hosttest.Bags(11)
	bags.HeldOut = hosttest.Bags(3)
	cut := hosttest.Bags(7)
	cut.Batches = []int{3, 4}
	numbers := hosttest.Rows(2, 1, 2, 3, 4, 5, 6, 7, 8)
	for name, c := range map[string]struct {
		samples *sdk.Samples
		in      sdk.InputSpec
	}{
		"bags, some held out": {bags, in},
		"batches of its own":  {cut, in},
		"numbers":             {numbers, sdk.InputSpec{Features: 2, Classes: 10}},
	} {
		t.Run(name, func(t *testing.T) {
			limits := make(chan []int64, 1)
			load := tape(c.samples)
			r, peer, part := beside(t, hosttest.Patience, func(p *protocoltest.Part, h wire.Header) error {
				if h.Op == protocoltest.Load {
					limits <- append([]int64(nil), tensor.ViewInt64(p.Of(protocoltest.Limits, 0))...)
				}
				return load(p, h)
			})
			req := request(c.in, 2, 2)
			req.Part = peer
			got, err := r.Partition(req)
			hosttest.Must(t, err)
			if d := cmp.Diff([]int64{int64(c.in.Rows), int64(c.in.Features), int64(c.in.Classes), int64(c.in.Targets),
				0}, <-limits); d != "" {
				t.Errorf("%s, limits: %s", name, d)
			}
			own, _ := dataOf(t, hosttest.Loaded{Samples: c.samples}, "unix", hosttest.Patience, 2)
			req.Part = process.Peer{}
			want, err := own.Partition(req)
			hosttest.Must(t, err)
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s: %s", name, d)
			}
			for what, lists := range map[string][2][][]sdk.Batch{"shares": {own.shares, r.shares},
				"held out": {own.heldOut, r.heldOut}} {
				if d := cmp.Diff(lists[0], lists[1], cmpopts.EquateEmpty()); d != "" {
					t.Errorf("%s, %s: %s", name, what, d)
				}
			}
			if r.BoundaryNS() <= 0 {
				t.Errorf("%s: a call to the part costs %d ns", name, r.BoundaryNS())
			}
			if err := part.Ended(); !errors.Is(err, io.EOF) {
				t.Errorf("%s: the link ended with %v", name, err)
			}
		})
	}
}

// If samples from a companion are wrong, the error names the sample, as for all data. If the
// companion itself behaves wrongly, the error names the companion.
func TestPartsThatLoadWrongly(t *testing.T) {
	far := hosttest.Bags(3)
	far.Targets[1], far.Origin = 10, func(i, position int) string {
		return fmt.Sprintf("row %d, position %d", i, position)
	}
	silent := hosttest.Bags(3)
	silent.Targets[1] = 10
	heldOut := hosttest.Bags(3)
	heldOut.HeldOut = far
	short := hosttest.Bags(3)
	short.Batches = []int{4}
	torn := hosttest.Bags(3)
	torn.Offsets = torn.Offsets[:3]
	answer := func(h wire.Header) func(*protocoltest.Part, wire.Header) error {
		return func(p *protocoltest.Part, _ wire.Header) error { return p.Send(h) }
	}
	for want, c := range map[string]struct {
		take    func(*protocoltest.Part, wire.Header) error
		timeout time.Duration
	}{
		"data tape: sample 1 (row 1, position -1): target 10 is outside the model's classes of 0 to 9":               {take: tape(far)},
		"data tape: sample 1: target 10 is outside the model's classes of 0 to 9":                                    {take: tape(silent)},
		"data tape: held-out sample 1 (row 1, position -1): target 10 is outside the model's classes of 0 to 9":      {take: tape(heldOut)},
		"data tape: batch 0 of the data has 4 samples; it must have at least one, and at most the remaining 3 of 3":  {take: tape(short)},
		"data tape: the data is inconsistent: 3 targets for 2 samples; each must have the same number, at least one": {take: tape(torn)},
		"data tape: the data holds no samples": {take: tape(&sdk.Samples{})},
		"data: data.part answered load with 7, which must be 1 if there are held-out samples and 0 if there are none": {take: answer(wire.Header{Op: protocoltest.Load, Arg: 7})},
		"data: data.part announced tensor 2 of role 18, which it does not have": {
			take: answer(wire.Header{Op: protocoltest.Tensor, Flags: protocoltest.LoadedIndices, Bucket: 2}),
		},
		"data: data.part sent received of batch 0, bucket 0, which was not requested":                 {take: answer(wire.Header{Op: protocoltest.Received})},
		"data: data.part announced tensor 0 of role 18 in segment 9, which it was not given to write": {take: answer(wire.Header{Op: protocoltest.Tensor, Flags: protocoltest.LoadedIndices, Rows: 9, Arg2: 1})},
		"data lost its link to data.part during the answer to load: EOF": {
			take: func(*protocoltest.Part, wire.Header) error { return io.EOF },
		},
		"data: data.part: load: no such file": {take: func(p *protocoltest.Part, _ wire.Header) error {
			return p.Send(wire.Header{Op: protocoltest.Failed}, []byte("load: no such file")...)
		}},
		"data waited 1 s for the answer to load from data.part": {take: func(*protocoltest.Part, wire.Header) error { return nil }, timeout: time.Second},
	} {
		t.Run(fmt.Sprintf("%.60s", want), func(t *testing.T) {
			if c.timeout == 0 {
				c.timeout = hosttest.Patience
			}
			r, peer, _ := beside(t, c.timeout, c.take)
			req := request(hosttest.AnyInputs, 3, 1)
			req.Part = peer
			if _, err := r.Partition(req); err == nil || fault.Told("data", err).Error() != want {
				t.Errorf("got %v\nwant %s", err, want)
			}
		})
	}
}
