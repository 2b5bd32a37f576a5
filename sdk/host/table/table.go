package table

import (
	"fmt"
	"sync"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/wire"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/host/convert"
	"github.com/psbench/psbench/sdk/host/fault"
	"github.com/psbench/psbench/sdk/host/inspect"
	"github.com/psbench/psbench/sdk/host/process"
	"github.com/psbench/psbench/sdk/proto"
)

// Role hosts the server of a table: it takes the calls of all trainers, hands
// them to the server one at a time and measures each.
type Role struct {
	*process.Process
	server           sdk.TableServer
	spec             comm.TableSpec
	lookups, updates *sdk.Series
	// calling is held while the server works. A call is noted before it is answered,
	// so a trainer that has its last answer finds everything noted.
	calling sync.Mutex
}

func New(st *process.Process) (*Role, error) {
	server, err := process.Build[sdk.TableServer](st, st.Req.GetPart(), sdk.TableEnv{
		Rank: st.Rank(), Name: st.Name(), Position: int(st.Req.GetPosition()), Seed: st.Req.GetSeed(),
		Trainers: int(st.Req.GetTrainers()), Recorder: st.Recorder,
	})
	if err != nil {
		return nil, err
	}
	r := &Role{Process: st, server: server, spec: server.Table()}
	if err := r.spec.Check(); err != nil {
		return nil, fmt.Errorf("server %s: %w", st.Req.GetPart().GetKey(), err)
	}
	r.lookups = st.Recorder.Series("embedding_metric", "lookup")
	r.updates = st.Recorder.Series("embedding_metric", "update")
	return r, nil
}

// DescribeTable says how large the table is.
func (r *Role) DescribeTable() *proto.Table { return convert.TableToProto(r.spec) }

func (r *Role) Connect(req *proto.ConnectRequest) (*proto.ConnectReply, error) {
	spec, position := convert.LookupFromProto(req.GetLookup()), int(r.Req.GetPosition())
	if position < 0 || position >= len(spec.Tables) || spec.Tables[position] != r.spec {
		return nil, fmt.Errorf("%s holds a table of %d x %d, which is not table %d of %v", r.Name(), r.spec.Rows, r.spec.Width, position, spec.Tables)
	}
	conns := make([]*wire.Conn, len(req.GetTrainers()))
	for i, t := range req.GetTrainers() {
		var err error
		if conns[i], err = r.Accept(t, process.PurposeTables); err != nil {
			return nil, err
		}
	}
	port, err := r.Fabric.NewTablePort(r.Joined(conns), spec, position)
	if err != nil {
		return nil, err
	}
	r.Own(port)
	r.Owned.Go(func() {
		if err := port.Serve(r.handle); err != nil {
			r.Fail(err)
		}
	})
	return &proto.ConnectReply{Facts: process.Facts(nil, r.server)}, nil
}

// handle takes a call from the port, which answers it afterwards.
func (r *Role) handle(call *comm.TableCall) error {
	r.calling.Lock()
	defer r.calling.Unlock()
	var err error
	series, startNS, method := r.lookups, comm.Now(), "Lookup"
	if call.Update {
		series, method, err = r.updates, "Update", r.server.Update(call)
	} else {
		err = r.server.Lookup(call)
	}
	if err != nil {
		return fault.Of(r.Title(), method+" of "+describeCall(call.Batch), err)
	}
	if call.Batch != comm.NoBatch {
		series.Record(sdk.Key{A: call.Batch, B: int64(call.Trainer)}, startNS, comm.Now())
	}
	return nil
}

// describeCall names the batch of a call to a table.
func describeCall(batch int64) string {
	if batch == comm.NoBatch {
		return "held-out samples"
	}
	return fmt.Sprintf("batch %d", batch)
}

func (r *Role) Reset() error {
	r.calling.Lock()
	defer r.calling.Unlock()
	r.server.Reset()
	r.Recorder.Reset()
	return nil
}

func (r *Role) Collect(send func(*proto.CollectReply) error) error {
	if err := r.CollectSeries(send); err != nil {
		return err
	}
	if !r.calling.TryLock() { // a pass that failed may not have ended
		return nil
	}
	defer r.calling.Unlock()
	return inspect.CollectHeld(r.Process, r.server, send)
}
