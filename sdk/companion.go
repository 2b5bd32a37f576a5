package sdk

import (
	"fmt"
	"slices"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/sdk/proto"
)

// Operations between a trainer and its companions. A request is answered by
// one frame of the same operation or by opFailed; before it come the parameters
// that were initialized, where they are not mapped, and the gradients. A link
// starts with pings, which measure what crossing it costs, until opReady.
const (
	opPing = comm.OpUser + 0x10 + iota
	opReady
	_               // opFailed
	opInitialize    // arg: seed; ends the values
	opValue         // arg: parameter
	opForward       // model: a batch; answered by rows (arg) and columns (arg2) of the output
	opBackward      // the output's gradient; ends the gradients
	opBackwardInput // the same; ends with the gradient of the features
	opGradient      // arg: parameter, rows: of a sparse gradient
	opLoss          // output, rows (arg), columns (arg2), then targets; answered by the loss
	opLossGradient
)

// boundaryPings is how often the cost of crossing is measured.
const boundaryPings = 200

// dialCompanion joins the companion of a kind and measures the median round
// trip of a no-op call.
func dialCompanion(st *station, kind Kind, peer *proto.Peer, reply *proto.ConnectReply) (*callLink, error) {
	if peer == nil {
		return nil, fmt.Errorf("%s has neither a %s of its own nor a companion for it", st.name(), kind)
	}
	conn, err := st.dial(peer, purposeCompanion)
	if err != nil {
		return nil, err
	}
	if err := bound(conn, st.timeout); err != nil {
		return nil, err
	}
	h := comm.Header{}
	trips := make([]int64, boundaryPings)
	for i := range trips {
		start := comm.Now()
		if err := conn.Send(&comm.Header{Op: opPing}); err != nil {
			return nil, err
		}
		if err := expect(conn, &h, opPing); err != nil {
			return nil, err
		}
		trips[i] = comm.Now() - start
	}
	slices.Sort(trips)
	reply.BoundaryNs[string(kind)] = trips[len(trips)/2]
	if err := conn.SetReadDeadline(time.Time{}); err != nil {
		return nil, err
	}
	return &callLink{Conn: conn}, conn.Send(&comm.Header{Op: opReady})
}

// acceptTrainer waits for the trainer of a companion and answers its pings.
func acceptTrainer(st *station, req *proto.ConnectRequest) (*callLink, error) {
	trainers := req.GetTrainers()
	if len(trainers) != 1 {
		return nil, fmt.Errorf("%s is a companion of one trainer but was given %d", st.name(), len(trainers))
	}
	conn, err := st.accept(trainers[0], purposeCompanion)
	if err != nil {
		return nil, err
	}
	if err := bound(conn, st.timeout); err != nil {
		return nil, err
	}
	var h comm.Header
	for {
		if err := conn.ReadHeader(&h); err != nil {
			return nil, err
		}
		if h.Op == opReady {
			return &callLink{Conn: conn}, conn.SetReadDeadline(time.Time{})
		}
		if h.Op != opPing || h.Payload != 0 {
			return nil, fmt.Errorf("%s sent operation %#x where a ping is due", conn.Peer(), h.Op)
		}
		if err := conn.Send(&comm.Header{Op: opPing}); err != nil {
			return nil, err
		}
	}
}

// serveCalls answers a trainer's calls one after the other until the link
// ends. A call that fails is told to the trainer, which ends the run.
func serveCalls(st *station, conn *callLink, answer func(*comm.Header) error) {
	_ = conn.SetReadDeadline(time.Time{}) // fails only once closed, and then reads fail too
	var h comm.Header
	for {
		if err := conn.ReadHeader(&h); err != nil {
			st.events.fail(err)
			return
		}
		if !st.working.TryRLock() {
			return
		}
		err := conn.SetWriteDeadline(time.Now().Add(st.timeout))
		if err == nil {
			err = answer(&h)
		}
		st.working.RUnlock()
		if err == nil {
			continue
		}
		if err = conn.Send(&comm.Header{Op: opFailed}, []byte(err.Error())); err != nil {
			st.events.fail(err)
		}
		discard(conn)
		return
	}
}

// discard reads and forgets what still comes over a link on which a call
// failed: some of that call's payload may be unread, so frames can no longer be
// told apart, and the trainer must not block on what it is still sending.
func discard(conn *callLink) {
	for waste := make([]byte, 64<<10); conn.Conn.ReadFull(waste) == nil; {
	}
}
