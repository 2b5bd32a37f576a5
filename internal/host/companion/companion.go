// Package companion has both sides of the calls between a trainer and the model, criterion or
// hook in a process beside it.
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

// Operations between a trainer and its companions. A request is answered by
// one frame of the same operation or by OpFailed; before it come the parameters
// that were initialized, where they are not mapped, and the gradients. A link
// starts with pings, which measure what crossing it costs, until opReady.
const (
	opPing = wire.OpUser + 0x10 + iota
	opReady
	_               // OpFailed
	opInitialize    // arg: seed; ends the values
	opValue         // arg: parameter
	opForward       // model: a batch; answered by rows (arg) and columns (arg2) of the output
	opBackward      // the output's gradient; ends the gradients
	opBackwardInput // the same; ends with the gradient of the features
	opGradient      // arg: parameter, rows: of a sparse gradient
	// opLoss has the output, rows (arg), columns (arg2), then targets: classes, or numbers for each row (rows). The
	// answer is the loss.
	opLoss
	opLossGradient
	_          // that of call's memory
	opEvaluate // as opForward
)

// boundaryPings is how often the cost of crossing is measured.
const boundaryPings = 200

// Dial joins a companion by a link with n bytes of memory for the payloads of each side, and
// measures the median round trip of a no-op call. Any other exchange over the link's connection
// must come before Watch.
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

// acceptTrainer waits for the trainer of a companion and answers its pings.
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

// serveCalls answers a trainer's calls one after the other until the link
// ends. It reports a failed call to the trainer, which ends the run.
func serveCalls(p *process.Process, conn *call.Link, answer func(*wire.Header) error) {
	var h wire.Header
	for {
		_ = conn.Lift() // fails only once closed, and then reads fail too
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

// collect sends what was recorded and, if no call of a pass that failed is in work, what the
// part knows after the pass.
func collect(p *process.Process, calling *sync.Mutex, part any, send record.Send) error {
	if err := p.CollectRecorded(send); err != nil || !process.Within(process.CollectGrace, calling.TryLock) {
		return err
	}
	defer calling.Unlock()
	return process.CollectPassFacts(send, part)
}

// CallMemory returns how many bytes each side of a call link needs, for a model with these inputs and
// batches with these lengths and target width. It is the larger of two sizes for the largest batch: the
// batch with its features and their gradient, or the output with the targets. Every row of the
// model's input has its target in the batch.
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
