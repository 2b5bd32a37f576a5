package sdk

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/sdk/proto"
)

// dataRole hosts the data: it loads once, or reads all of a stream once, checks every
// sample against the model, deals the batches and hands each trainer its share. A stream
// it reads again in every epoch.
type dataRole struct {
	*station
	data    Data
	samples *Samples
	stream  *stream      // nil: all is in memory
	shares  [][]Batch    // by trainer; nil of a stream
	heldOut [][]Batch    // by trainer
	stepNS  atomic.Int64 // when deal came on last, or will have to
}

func newDataRole(st *station) (*dataRole, error) {
	data, err := build[Data](st, st.req.GetPart(), DataEnv{
		Seed: st.req.GetSeed(), Trainers: int(st.req.GetTrainers()), BatchSize: int(st.req.GetBatchSize()),
	})
	if err != nil {
		return nil, err
	}
	r := &dataRole{station: st, data: data}
	_, fitted := data.(FittedData)
	_, streamed := data.(StreamedData)
	if fitted || streamed {
		return r, nil // until the inputs are known
	}
	return r, r.load()
}

func (r *dataRole) load() (err error) {
	r.samples, err = r.data.Load()
	return errorOf(r.title(), "Load", err)
}

// explain says whose data is wrong where nothing says so already.
func (r *dataRole) explain(err error) error {
	if err == nil || isExplained(err) {
		return err
	}
	return &partError{text: r.title() + ": " + quote.Message(err.Error()), err: err}
}

func (r *dataRole) deal(req *proto.DealRequest) (*proto.DealReply, error) {
	defer r.watchSteps()()
	in := req.GetInputs()
	data, fitted := r.data.(FittedData)
	if fitted {
		data.Fit(inputsFromProto(in))
	}
	sets := setsFromProto(req.GetSets())
	var reply *proto.DealReply
	var err error
	if data, ok := r.data.(StreamedData); ok {
		reply, err = r.dealStream(data, req, sets)
	} else {
		if fitted {
			err = r.load()
		}
		if err == nil {
			reply, err = r.dealSamples(req, sets)
		}
	}
	if err != nil {
		return nil, err
	}
	if reply.HeldOut = int64(heldOutSize(r.samples)); reply.HeldOut > 0 {
		r.heldOut = dealAll(cutEvery(&r.samples.HeldOut.Batch, int(req.GetBatchSize())), len(reply.Shares))
		for t, s := range reply.Shares {
			s.HeldOutBatches = int64(len(r.heldOut[t]))
			makeRoom(s, r.heldOut[t])
		}
	}
	return reply, nil
}

// dealSamples deals samples in memory.
func (r *dataRole) dealSamples(req *proto.DealRequest, sets [][]int) (*proto.DealReply, error) {
	if err := validate(r.samples, req.GetInputs()); err != nil {
		return nil, r.explain(err)
	}
	batches, err := cut(r.samples, int(req.GetBatchSize()))
	if err != nil {
		return nil, r.explain(err)
	}
	shares, dropped, err := dealBatches(batches, sets)
	if err != nil {
		return nil, err
	}
	r.shares = shares
	reply := &proto.DealReply{
		Samples: int64(r.samples.Size()), Batches: int64(len(batches)), Dropped: int64(dropped), OwnBatches: r.samples.Batches != nil,
	}
	for _, share := range shares {
		reply.Shares = append(reply.Shares, describeShare(share, req.GetInputs()))
	}
	return reply, nil
}

// dealStream reads all of a stream once and then loads what is held out.
func (r *dataRole) dealStream(data StreamedData, req *proto.DealRequest, sets [][]int) (*proto.DealReply, error) {
	r.stream = &stream{title: r.title(), data: data, in: req.GetInputs(), size: int(req.GetBatchSize())}
	start := comm.Now()
	if err := r.stream.scan(&r.stepNS); err != nil {
		return nil, r.explain(err)
	}
	end := comm.Now()
	r.stepNS.Store(end + 2*(end-start)) // to find what is held out may take reading everything again
	if err := r.load(); err != nil {
		return nil, err
	}
	if r.samples != nil {
		if n := r.samples.Size(); n > 0 {
			return nil, r.explain(fmt.Errorf("it is streamed but loads %d samples beside those that are held out", n))
		}
		if err := validateHeldOut(r.samples, req.GetInputs()); err != nil {
			return nil, r.explain(err)
		}
	}
	return r.stream.deal(sets)
}

// watchSteps reports data that does not come on within the timeout: a load, or a read of
// a stream. All steps together may take as long as they need, so the core cannot bound
// them. The caller calls stop when it is done.
func (r *dataRole) watchSteps() (stop func()) {
	r.stepNS.Store(comm.Now())
	done := make(chan struct{})
	r.owned.Go(func() {
		tick := time.NewTicker(max(r.timeout/20, time.Millisecond))
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-done:
				return
			case <-r.done:
				return
			}
			if comm.Now()-r.stepNS.Load() > int64(r.timeout) {
				r.events.fail(r.explain(fmt.Errorf("no samples came for %g s", r.timeout.Seconds())))
				return
			}
		}
	})
	return func() { close(done) }
}

func (r *dataRole) connect(req *proto.ConnectRequest) (*proto.ConnectReply, error) {
	for t, peer := range req.GetTrainers() {
		conn, err := r.accept(peer, purposeBatches)
		if err != nil {
			return nil, err
		}
		r.own(conn)
		if err := r.sendShares(conn, t); err != nil {
			return nil, err
		}
		if r.stream == nil {
			err = conn.Close()
		} else if err = conn.SetWriteDeadline(time.Time{}); err == nil { // a trainer takes a batch when it needs one
			r.owned.Go(func() { r.serveStream(conn, t) })
		}
		if err != nil {
			return nil, err
		}
	}
	return &proto.ConnectReply{Facts: facts(nil, r.data)}, nil
}

// sendShares sends trainer t what is sent at once: its share of batches in memory, then
// of those that are held out.
func (r *dataRole) sendShares(conn *comm.Conn, t int) error {
	if r.stream == nil {
		if err := sendShare(r.station, conn, r.shares[t]); err != nil {
			return err
		}
	}
	var heldOut []Batch
	if r.heldOut != nil {
		heldOut = r.heldOut[t]
	}
	return sendShare(r.station, conn, heldOut)
}

// serveStream sends trainer t its batches until the link ends. A trainer that is gone is
// noticed by itself; what the data did wrong is told before the link breaks, so that it
// explains that.
func (r *dataRole) serveStream(conn *comm.Conn, t int) {
	err := r.stream.send(&callLink{Conn: conn}, t)
	if lost := (*comm.PeerError)(nil); !errors.As(err, &lost) {
		r.events.fail(r.explain(err))
	}
	_ = conn.Close()
}

func (r *dataRole) reset() error { return nil }

func (r *dataRole) collect(send func(*proto.CollectReply) error) error { return r.collectSeries(send) }
