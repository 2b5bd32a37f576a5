// Package companion implements both sides of the calls between a trainer and a part in a companion
// process: a model, a criterion or a hook.
package companion

import (
	"cmp"
	"fmt"
	"sync"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/internal/comm/wire"
	"github.com/psbench/psbench/internal/host/batches"
	"github.com/psbench/psbench/internal/host/call"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/internal/numeral"
	"github.com/psbench/psbench/sdk"
)

// Operations between a trainer and its companions. The answer to a request is one frame of the same
// operation, or OpFailed. Gradients precede the answer, and so do initialized parameters that are
// not mapped. A link starts with pings, which measure the cost of a call, until opReady.
const (
	opPing = wire.OpUser + 0x10 + iota
	opReady
	_               // OpFailed
	opInitialize    // arg: seed; the answer follows the values
	opValue         // arg: parameter
	opForward       // model: sends a batch; the answer has the output's rows (arg) and columns (arg2)
	opBackward      // sends the output's gradient; the answer follows the gradients
	opBackwardInput // the same, but the answer carries the gradient of the features
	opGradient      // arg: parameter, rows: number of rows of a sparse gradient
	// opLoss carries the output, with rows (arg) and columns (arg2), then the targets. Targets are
	// classes, or numbers if Rows is not 0: that many for each row. The answer is the loss.
	opLoss
	opLossGradient
	_          // reserved for opMemory of package call
	opEvaluate // same format as opForward
)

// boundaryPings is the number of pings that measure the cost of a call.
const boundaryPings = 200

// Dial connects to a companion and measures the median round trip of a no-op call. The link has n
// bytes of memory for the payloads of each side. Any other exchange over the link's connection must
// come before Watch.
func Dial(p *process.Process, peer process.Peer, n int) (link *call.Link, tripNS int64, err error) {
	conn, err := p.Dial(peer, process.PurposeCompanion)
	if err != nil {
		return nil, 0, err
	}
	if err := conn.Bound(p.Timeout); err != nil {
		return nil, 0, err
	}
	if link, err = call.Offer(p, conn, n); err != nil {
		return nil, 0, err
	}
	if tripNS, err = ping(p, link); err != nil {
		return nil, 0, err
	}
	return link, tripNS, link.Send(&wire.Header{Op: opReady})
}

// ping measures the median round trip of a no-op call.
func ping(p *process.Process, link *call.Link) (tripNS int64, err error) {
	if err := link.Bound(p.Timeout); err != nil {
		return 0, err
	}
	h := wire.Header{}
	trips := make([]float64, boundaryPings)
	for i := range trips {
		start := comm.Now()
		if err := link.Send(&wire.Header{Op: opPing}); err != nil {
			return 0, err
		}
		if err := call.Expect(link, &h, opPing); err != nil {
			return 0, err
		}
		trips[i] = float64(comm.Now() - start)
	}
	return int64(numeral.Median(trips)), nil
}

// acceptTrainer waits until the companion's trainer connects, and answers its pings.
func acceptTrainer(p *process.Process, trainer process.Peer) (*call.Link, error) {
	conn, err := p.Accept(trainer, process.PurposeCompanion)
	if err != nil {
		return nil, err
	}
	if err := conn.Bound(p.Timeout); err != nil {
		return nil, err
	}
	link, err := call.Take(p, conn)
	if err != nil {
		return nil, err
	}
	if err := link.Bound(p.Timeout); err != nil {
		return nil, err
	}
	var h wire.Header
	for {
		if err := link.ReadHeader(&h); err != nil {
			return nil, err
		}
		if h.Op == opReady {
			return link, nil
		}
		if h.Op != opPing || h.Payload != 0 {
			return nil, fmt.Errorf("%s sent operation %#x where a ping is due", link.Peer(), h.Op)
		}
		if err := link.Send(&wire.Header{Op: opPing}); err != nil {
			return nil, err
		}
	}
}

// serveCalls answers a trainer's calls in order until the link ends. A failed call is reported to
// the trainer, which ends the run.
func serveCalls(p *process.Process, conn *call.Link, answer func(*wire.Header) error) {
	var h wire.Header
	for {
		_ = conn.Lift() // fails only if the link is closed; reads then fail too
		if err := conn.ReadHeader(&h); err != nil {
			p.Events.Fail(err)
			return
		}
		if !p.Working.TryRLock() {
			return
		}
		err := conn.Bound(p.Timeout)
		if err == nil {
			err = answer(&h)
		}
		p.Working.RUnlock()
		if err == nil {
			continue
		}
		if err = conn.Send(&wire.Header{Op: call.OpFailed}, []byte(err.Error())); err != nil {
			p.Events.Fail(err)
		}
		conn.Discard()
		return
	}
}

// collect sends the recorded values. collect also sends the part's facts after the pass, unless a
// call of a failed pass is still running.
func collect(p *process.Process, calling *sync.Mutex, part any, send record.Send) error {
	if err := p.CollectRecorded(send); err != nil || !process.Within(process.CollectGrace, calling.TryLock) {
		return err
	}
	defer calling.Unlock()
	return process.CollectPassFacts(send, part)
}

// CallMemory returns the number of bytes that each side of a call link needs. The size depends on
// the model's inputs, the batches' lengths and the target width. CallMemory returns the larger of
// two sizes for the largest batch: the batch with its features and their gradient, or the output
// with the targets. Every row of the model's input has a target in the batch.
func CallMemory(sizes []batches.Lengths, in sdk.InputSpec, width int) int {
	n := int64(1)
	columns := int64(max(in.Classes, in.Outputs))
	for _, l := range sizes {
		rows := l[2] / max(1, int64(in.Targets))
		if width > 0 {
			rows = l[4] / int64(cmp.Or(in.Outputs, width))
		}
		if call.Fits(rows, int64(in.Features)) {
			l[3] = rows * int64(in.Features)
		}
		n = max(n, 8*batches.Lists+l.Bytes())
		if call.Fits(rows, columns) {
			n = max(n, 4*rows*columns+8*l[2]+4*l[4])
		}
	}
	return int(n)
}
