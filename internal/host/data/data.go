// Package data implements the role of the process that holds the data.
package data

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/internal/comm/wire"
	"github.com/psbench/psbench/internal/host/batches"
	"github.com/psbench/psbench/internal/host/call"
	"github.com/psbench/psbench/internal/host/fault"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/internal/host/protocol"
	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/sdk"
)

// Role loads the data once, or reads a stream once from start to end. Role checks every sample
// against the model's limits, divides the batches among the trainers and sends each trainer its
// share. In every epoch, Role reads a stream again.
type Role struct {
	*process.Process
	data    sdk.Data
	wanted  batches.Wanted
	samples *sdk.Samples
	stream  *stream       // nil if all data is in memory
	shares  [][]sdk.Batch // by trainer; nil for a stream
	heldOut [][]sdk.Batch // by trainer
	stepNS  atomic.Int64  // last progress of Partition, in ns of comm.Now; a future time allows a longer step
	tripNS  int64         // median round trip of a no-op call to the companion with the data, if any
}

// NewBeside makes the role for data that lives in a companion. Partition connects to that
// companion.
func NewBeside(p *process.Process, wanted batches.Wanted) *Role {
	return &Role{Process: p, wanted: wanted}
}

// New builds the data. New also loads the data, unless loading needs the model's inputs first.
func New(p *process.Process, env sdk.DataEnv) (*Role, error) {
	env.Recorder, env.Timeout = p.Recorder, p.Timeout
	data, err := process.Build[sdk.Data](p, p.Part(), env)
	if err != nil {
		return nil, err
	}
	r := &Role{Process: p, data: data, wanted: batches.Wanted{Criterion: env.Criterion, Targets: env.Wanted}}
	_, fitted := data.(sdk.FittedData)
	_, streamed := data.(sdk.StreamedData)
	if fitted || streamed {
		return r, nil // loaded later, once the inputs are known
	}
	return r, r.load()
}

func (r *Role) load() (err error) {
	r.samples, err = r.data.Load()
	return fault.Of(r.Title(), "Load", err)
}

// explain adds the name of the part to an error that does not say whose data is wrong.
func (r *Role) explain(err error) error {
	if err == nil || fault.Explained(err) {
		return err
	}
	return &fault.Part{Text: r.Title() + ": " + quote.Message(err.Error()), Err: err}
}

// Partition checks every sample, cuts batches and divides them among the trainers.
func (r *Role) Partition(req Request) (*batches.Partition, error) {
	defer r.watchSteps()()
	if r.data == nil {
		part, tripNS, err := protocol.NewData(r.Process, req.Part)
		if err != nil {
			return nil, err
		}
		defer func() { _ = part.Close() }() // once all samples are checked, no error needs a sample's origin
		r.data, r.tripNS = part, tripNS
	}
	data, fitted := r.data.(sdk.FittedData)
	if fitted {
		data.Fit(req.Inputs)
	}
	var reply *batches.Partition
	var err error
	if data, ok := r.data.(sdk.StreamedData); ok {
		reply, err = r.partitionStream(data, req)
	} else {
		if fitted {
			err = r.load()
		}
		if err == nil {
			reply, err = r.partitionSamples(req)
		}
	}
	if err != nil {
		return nil, err
	}
	if reply.HeldOut = heldOutSize(r.samples); reply.HeldOut > 0 {
		r.heldOut = roundRobin(batches.CutEvery(&r.samples.HeldOut.Batch, req.BatchSize), len(reply.Shares))
		for t := range reply.Shares {
			s := &reply.Shares[t]
			s.HeldOutBatches = len(r.heldOut[t])
			makeRoom(s, r.heldOut[t])
		}
	}
	return reply, nil
}

// partitionSamples divides samples in memory among the trainers.
func (r *Role) partitionSamples(req Request) (*batches.Partition, error) {
	if err := validate(r.samples, req.Inputs, r.wanted); err != nil {
		return nil, r.explain(err)
	}
	all, err := batches.Cut(r.samples, req.BatchSize)
	if err != nil {
		return nil, r.explain(err)
	}
	shares, dropped, err := partitionBatches(all, req.Sets)
	if err != nil {
		return nil, err
	}
	r.shares = shares
	reply := &batches.Partition{
		Samples: r.samples.Size(), Batches: len(all), Dropped: dropped, OwnBatches: r.samples.Batches != nil,
	}
	for _, share := range shares {
		reply.Shares = append(reply.Shares, describeShare(share, req.Inputs))
	}
	return reply, nil
}

// partitionStream reads a stream once from start to end, then loads the held-out samples.
func (r *Role) partitionStream(data sdk.StreamedData, req Request) (*batches.Partition, error) {
	r.stream = &stream{title: r.Title(), data: data, in: req.Inputs, wanted: r.wanted, size: req.BatchSize,
		process: r.Process}
	r.Closes(r.Title()+", with its readers,", r.stream)
	start := comm.Now()
	if err := r.stream.scan(&r.stepNS); err != nil {
		return nil, r.explain(err)
	}
	end := comm.Now()
	r.stepNS.Store(end + 2*(end-start)) // loading the held-out samples may read everything again
	if err := r.load(); err != nil {
		return nil, err
	}
	if r.samples != nil {
		if n := r.samples.Size(); n > 0 {
			return nil, r.explain(fmt.Errorf("it is streamed but loads %d samples besides those that are held out", n))
		}
		if err := r.stream.validateHeldOut(r.samples); err != nil {
			return nil, r.explain(err)
		}
	}
	return r.stream.partition(req.Sets)
}

// watchSteps reports data that makes no progress within the timeout: a load, or a read of a stream.
// All steps together may take as long as they need, so the core cannot bound them. The caller calls
// stop when it is done.
func (r *Role) watchSteps() (stop func()) {
	r.stepNS.Store(comm.Now())
	done := make(chan struct{})
	r.Owned.Go(func() {
		tick := time.NewTicker(max(r.Timeout/20, time.Millisecond))
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-done:
				return
			case <-r.Done:
				return
			}
			if comm.Now()-r.stepNS.Load() > int64(r.Timeout) {
				r.Events.Fail(r.explain(fmt.Errorf("no samples came for %g s", r.Timeout.Seconds())))
				return
			}
		}
	})
	return func() { close(done) }
}

// BoundaryNS returns the median round trip, in ns, of a no-op call to the companion with the data;
// 0 without a companion.
func (r *Role) BoundaryNS() int64 { return r.tripNS }

// Connect waits for the trainers, sends each trainer its share and returns the part's facts.
func (r *Role) Connect(trainers []process.Peer) (map[string]string, error) {
	for t, peer := range trainers {
		conn, err := r.Accept(peer, process.PurposeBatches)
		if err != nil {
			return nil, err
		}
		if err := r.sendShares(conn, t); err != nil {
			return nil, err
		}
		if r.stream == nil {
			err = conn.Close()
		} else if err = conn.SetWriteDeadline(time.Time{}); err == nil { // a trainer may take its time
			r.stream.links = append(r.stream.links, conn)
			r.stream.sending.Add(1)
			r.Owned.Go(func() { r.serveStream(conn, t) })
		}
		if err != nil {
			return nil, err
		}
	}
	return process.Facts(nil, r.data), nil
}

// sendShares sends trainer t its share of the training batches, if they are in memory, and of the
// held-out batches.
func (r *Role) sendShares(conn *wire.Conn, t int) error {
	if r.stream == nil {
		if err := batches.SendShare(r.Process, conn, r.shares[t]); err != nil {
			return err
		}
	}
	var heldOut []sdk.Batch
	if r.heldOut != nil {
		heldOut = r.heldOut[t]
	}
	return batches.SendShare(r.Process, conn, heldOut)
}

// serveStream sends trainer t its batches until the link ends. If the data fails, serveStream
// reports the error before the link breaks, so that the error explains the broken link. serveStream
// does not report the end of a trainer, because the core notices that itself.
func (r *Role) serveStream(conn *wire.Conn, t int) {
	defer r.stream.sending.Done()
	err := r.stream.send(&call.Link{Conn: conn}, t)
	if lost := (*comm.PeerError)(nil); !errors.As(err, &lost) {
		r.Events.Fail(r.explain(err))
	}
	_ = conn.Close()
}

// Reset starts a new pass. A stream then starts again at the first batch.
func (r *Role) Reset() error {
	if r.stream != nil {
		r.stream.pass.Add(1)
	}
	r.Recorder.Reset()
	return nil
}

// Collect sends the recorded values. Readers of a stream may still be reading ahead.
func (r *Role) Collect(send record.Send) error {
	if err := r.CollectRecorded(send); err != nil {
		return err
	}
	return process.CollectPassFacts(send, r.data)
}
