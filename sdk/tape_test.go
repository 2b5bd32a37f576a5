package sdk

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/sdk/proto"
)

// tape is streamed data of samples in memory, which may do wrong.
type tape struct {
	all, loaded *Samples
	left        atomic.Int64 // samples that there are, of all
	opened      atomic.Int64
	closings    atomic.Int64
	// Each of these takes the place of the tape's own call, unless it is nil.
	open, shut, skip func() error
	read             func(r *tapeReader, b *Batch, n int) error
}

func newTape(all *Samples) *tape {
	d := &tape{all: all}
	d.left.Store(int64(all.Size()))
	return d
}

func (d *tape) Load() (*Samples, error) { return d.loaded, nil }

func (d *tape) Open() (SampleReader, error) {
	if d.open != nil {
		if err := d.open(); err != nil {
			return nil, err
		}
	}
	d.opened.Add(1)
	return &tapeReader{tape: d}, nil
}

// returned checks that every reader was closed.
func (d *tape) returned(t *testing.T) {
	t.Helper()
	if opened, closed := d.opened.Load(), d.closings.Load(); opened != closed || opened == 0 {
		t.Errorf("%d readers were opened and %d closed", opened, closed)
	}
}

type tapeReader struct {
	*tape
	last, at int
}

func (r *tapeReader) Read(b *Batch, n int) error {
	if r.read != nil {
		return r.read(r, b, n)
	}
	return r.take(b, n)
}

// take reads as a reader should.
func (r *tapeReader) take(b *Batch, n int) error {
	end := min(r.at+n, int(r.left.Load()))
	if r.at >= end {
		return io.EOF
	}
	part := r.all.slice(r.at, end)
	r.last, r.at = r.at, end
	b.Indices, b.Offsets = append(b.Indices[:0], part.Indices...), append(b.Offsets[:0], part.Offsets...)
	b.Features, b.Targets = append(b.Features[:0], part.Features...), append(b.Targets[:0], part.Targets...)
	return nil
}

func (r *tapeReader) Skip(n int) error {
	r.at += n
	if r.skip != nil {
		return r.skip()
	}
	return nil
}

func (r *tapeReader) Origin(sample, position int) string {
	if r.all.Origin == nil {
		return "a tape"
	}
	return r.all.Origin(r.last+sample, position)
}

func (r *tapeReader) Close() error {
	r.closings.Add(1)
	if r.shut != nil {
		return r.shut()
	}
	return nil
}

var errTape = errors.New("the tape is torn")

// dataOf hosts data, and the trainers that take it.
func dataOf(t testing.TB, data Data, transport comm.Transport, timeout time.Duration, trainers int) (*dataRole, []*trainerRole) {
	t.Helper()
	dir := folder(t)
	parts := []Part{NewData("tape", struct{}{}, func(struct{}, DataEnv) (Data, error) { return data, nil })}
	var takers []*trainerRole
	for i := range trainers {
		st := stationOf(t, dir, nil, &proto.ConfigureRequest{
			Name: fmt.Sprintf("trainer%d", i), Transport: string(transport), Listen: "127.0.0.1", TimeoutNs: int64(timeout),
		})
		takers = append(takers, &trainerRole{station: st})
	}
	r, err := newDataRole(stationOf(t, dir, parts, &proto.ConfigureRequest{
		Name: "data", Part: &proto.PartChoice{Kind: "data", Key: "tape"},
		Transport: string(transport), Listen: "127.0.0.1", TimeoutNs: int64(timeout),
	}))
	must(t, err)
	return r, takers
}

// fetch has all trainers take what was dealt.
func fetch(t testing.TB, r *dataRole, takers []*trainerRole, in *proto.Inputs, deal *proto.DealReply) {
	t.Helper()
	req := &proto.ConnectRequest{}
	fetched := make(chan error, len(takers))
	for i, taker := range takers {
		req.Trainers = append(req.Trainers, peerOf(taker.station))
		taker.inputs = in
		go func() {
			_, err := taker.fetchBatches(&proto.ConnectRequest{Data: peerOf(r.station), Share: deal.GetShares()[i], Streamed: deal.GetStreamed()})
			fetched <- err
		}()
	}
	_, err := r.connect(req)
	must(t, err)
	for range takers {
		must(t, <-fetched)
	}
}

// request is for batches of size samples for a set of all trainers.
func request(in *proto.Inputs, size int32, trainers int) *proto.DealRequest {
	set := &proto.TrainerSet{}
	for t := range trainers {
		set.Trainers = append(set.Trainers, int32(t))
	}
	return &proto.DealRequest{Inputs: in, BatchSize: size, Sets: []*proto.TrainerSet{set}}
}

var anyInputs = &proto.Inputs{Rows: 10, Classes: 10}

// bags are n samples of a bag each, with its number as the target.
func bags(n int) *Samples {
	s := &Samples{}
	for i := range int64(n) {
		s.Append([]int64{i % 10, (i * i) % 10}[:1+i%2], i%10)
	}
	return s
}
