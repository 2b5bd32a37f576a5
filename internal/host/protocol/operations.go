package protocol

import (
	"fmt"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/wire"
	"github.com/psbench/psbench/internal/host/fault"
	"github.com/psbench/psbench/internal/quote"
)

// This file runs the operations that a part requests on the links of its rank.

// start starts the operation that the part has requested.
func (h *Hook) start(r *reduction) (err error) {
	if r.asked.Op == opRound {
		h.startRound(r)
	} else if r.ending, err = h.begin(&r.asked, r.stored); err != nil {
		return err
	}
	if r.asked.Flags&flagLast != 0 {
		h.leave(r)
	}
	if r == h.driven {
		h.kept = true
		return nil
	}
	started := h.started
	if r.asked.Op == opRound {
		started = h.rounds[r.asked.Arg]
	}
	started <- r // never blocks: it holds each bucket at most once
	return nil
}

// begin starts an operation on the rank's links.
func (h *Hook) begin(f *wire.Header, b *tensor.Bucket) (*comm.Future, error) {
	if f.Op == opPushPull {
		if h.links.Server == nil {
			return nil, h.link.wrong("sent %s, but its hook has no link to a server: it must declare that", describe(f))
		}
		return h.links.Server.PushPull(f.Batch, b), nil
	}
	group := h.links.Group
	if f.Flags&flagDefaultGroup != 0 {
		group = h.links.Default
	}
	if group == nil {
		return nil, h.link.wrong("sent %s, but its hook has no such link: it must declare that", describe(f))
	}
	switch f.Op {
	case opAllReduce:
		return group.AllReduce(f.Batch, b), nil
	case opAverage:
		return group.Average(f.Batch, b), nil
	case opBroadcast:
		return group.Broadcast(f.Batch, b, int(f.Arg)), nil
	case opReduceScatter:
		return group.ReduceScatter(f.Batch, b), nil
	case opAllGather:
		return group.AllGather(f.Batch, b), nil
	default:
		return group.AllToAll(f.Batch, b), nil
	}
}

// waitForEnds waits for started operations, one after the other, until the link has ended.
func (h *Hook) waitForEnds(started chan *reduction) {
	for {
		select {
		case r := <-started:
			h.goOn(r)
		case <-h.link.read:
			return
		}
	}
}

// goOn waits for the operation of r and then hands the bucket to the part or to the trainer. If the
// operation failed, no other bucket's turn would come. So goOn ends the link, and with it all
// reductions.
func (h *Hook) goOn(r *reduction) {
	switch err := h.waitFor(r); {
	case err != nil:
		h.done(r, h.link.fail(h.blame(r, err)))
	case r.asked.Flags&flagLast != 0:
		h.done(r, nil)
	default:
		h.give(r, &wire.Header{Op: opEnded, Arg: int64(r.asked.Op)})
	}
}

// waitFor waits for the operation, or the operations of the round, of r.
func (h *Hook) waitFor(r *reduction) error {
	if r.asked.Op == opRound {
		return h.laid.Wait(r.stored.Index, int(r.asked.Arg))
	}
	return r.ending.Wait()
}

// blame returns an error that names the failed operation and the part that requested it.
func (h *Hook) blame(r *reduction, err error) error {
	if fault.Explained(err) {
		return err
	}
	peer := h.link.conn.Peer()
	return blame(peer, fmt.Errorf("%s, %s: %s", peer, nameOf(r.asked.Op), quote.Message(err.Error())))
}
