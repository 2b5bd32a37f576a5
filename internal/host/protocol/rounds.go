package protocol

import (
	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/wire"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/internal/host/traffic"
	"github.com/psbench/psbench/sdk"
)

// This file runs the rounds of a part's traffic plan.

// Lay lays the hook's traffic plan on the rank's links. Without a plan it does nothing. Call Lay after
// Join and before any Reduce.
func (h *Hook) Lay(p *process.Process, links process.HookLinks) error {
	if links.Traffic == nil {
		return nil
	}
	laid, err := p.LayTraffic(links, func(specs []tensor.BucketSpec) (*comm.Store, error) {
		return p.Fabric.InSegments().NewStore(p.Name(), specs)
	})
	if err != nil {
		return err
	}
	return h.run(laid)
}

// run makes the hook run a plan and shows the payloads, which lie in segments, to the part.
func (h *Hook) run(laid *traffic.Laid) error {
	h.laid = laid
	for range laid.Longest() {
		started := make(chan *reduction, len(h.reductions))
		h.rounds = append(h.rounds, started)
		h.waiting.Go(func() { h.waitForEnds(started) })
	}
	for _, store := range laid.Stores() {
		if err := h.link.share(store.Segment, false, 0); err != nil {
			return err
		}
	}
	index := 0
	for b := range h.reductions {
		for _, round := range laid.Payloads(b) {
			for _, payload := range round {
				at := tensor.Float32Bytes(payload.Gradient.Values)
				if err := h.link.show(rolePayload, index, at, toLine(at)); err != nil {
					return err
				}
				index++
			}
		}
		h.payloads = append(h.payloads, int32(index)) // #nosec G115 -- a count of payloads
	}
	return nil
}

// checkRound returns an error unless a request fits the plan: rounds come in order, and a bucket with
// rounds is reduced after its last one.
func (h *Hook) checkRound(r *reduction, f *wire.Header) error {
	rounds := h.laid.Rounds(int(f.Bucket))
	switch {
	case f.Op != opRound && (rounds == 0 || f.Op == opReduced && r.begun == rounds):
		return h.checkPayloads(f)
	case f.Op != opRound:
		return h.link.wrong("sent %s after %d of the %d rounds that its hook has planned", describe(f), r.begun, rounds)
	case rounds == 0:
		return h.link.wrong("sent %s, but its hook has planned no rounds for the bucket", describe(f))
	case f.Arg != int64(r.begun) || r.begun == rounds:
		return h.link.wrong("sent %s with number %d after %d of %d rounds", describe(f), f.Arg, r.begun, rounds)
	case f.Flags != 0:
		return h.link.wrong("sent %s with flags %d, but a round has none", describe(f), f.Flags)
	}
	return h.checkPayloads(f)
}

// checkPayloads returns an error if the part has written past the end of a bucket's payload.
func (h *Hook) checkPayloads(f *wire.Header) error {
	if h.laid.Rounds(int(f.Bucket)) == 0 {
		return nil
	}
	first := int32(0)
	if f.Bucket > 0 {
		first = h.payloads[f.Bucket-1]
	}
	for index := first; index < h.payloads[f.Bucket]; index++ {
		if !h.link.intact(rolePayload, index) {
			return h.link.wrong("wrote past the end of payload %d of bucket %d in batch %d", index-first, f.Bucket, f.Batch)
		}
	}
	return nil
}

// startRound starts the next round of a bucket.
func (h *Hook) startRound(r *reduction) {
	bucket := r.stored.Index
	h.laid.Start(bucket, r.begun, r.batch, sdk.Key{A: r.batch, B: int64(bucket)})
	h.link.mu.Lock()
	defer h.link.mu.Unlock()
	r.begun++
}
