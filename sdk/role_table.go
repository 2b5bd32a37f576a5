package sdk

import (
	"fmt"
	"sync"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/sdk/proto"
)

// tableRole hosts the server of a table: it takes the calls of all trainers, hands
// them to the server one at a time and measures each.
type tableRole struct {
	*station
	server           TableServer
	spec             comm.TableSpec
	lookups, updates *Series
	// calling is held while the server works. A call is noted before it is answered,
	// so a trainer that has its last answer finds everything noted.
	calling sync.Mutex
}

func newTableRole(st *station) (*tableRole, error) {
	server, err := build[TableServer](st, st.req.GetPart(), TableEnv{
		Rank: st.rank(), Name: st.name(), Position: int(st.req.GetPosition()), Seed: st.req.GetSeed(),
		Trainers: int(st.req.GetTrainers()), Recorder: st.recorder,
	})
	if err != nil {
		return nil, err
	}
	r := &tableRole{station: st, server: server, spec: server.Table()}
	if err := r.spec.Check(); err != nil {
		return nil, fmt.Errorf("server %s: %w", st.req.GetPart().GetKey(), err)
	}
	r.lookups = st.recorder.Series("embedding_metric", "lookup")
	r.updates = st.recorder.Series("embedding_metric", "update")
	return r, nil
}

// describeTable says how large the table is.
func (r *tableRole) describeTable() *proto.Table { return tableToProto(r.spec) }

func (r *tableRole) connect(req *proto.ConnectRequest) (*proto.ConnectReply, error) {
	spec, position := lookupFromProto(req.GetLookup()), int(r.req.GetPosition())
	if position < 0 || position >= len(spec.Tables) || spec.Tables[position] != r.spec {
		return nil, fmt.Errorf("%s holds a table of %d x %d, which is not table %d of %v", r.name(), r.spec.Rows, r.spec.Width, position, spec.Tables)
	}
	conns := make([]*comm.Conn, len(req.GetTrainers()))
	for i, t := range req.GetTrainers() {
		var err error
		if conns[i], err = r.accept(t, purposeTables); err != nil {
			return nil, err
		}
	}
	port, err := comm.NewTablePort(r.transport(), r.name(), conns, spec, position, r.timeout)
	if err != nil {
		return nil, err
	}
	r.own(port)
	r.owned.Go(func() {
		if err := port.Serve(r.handle); err != nil {
			r.fail(err)
		}
	})
	return &proto.ConnectReply{Facts: facts(nil, r.server)}, nil
}

// handle takes a call from the port, which answers it afterwards.
func (r *tableRole) handle(call *comm.TableCall) error {
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
		return errorOf(r.title(), method+" of "+describeCall(call.Batch), err)
	}
	if call.Batch != comm.NoBatch {
		series.Record(Key{call.Batch, int64(call.Trainer)}, startNS, comm.Now())
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

func (r *tableRole) reset() error {
	r.calling.Lock()
	defer r.calling.Unlock()
	r.server.Reset()
	r.recorder.Reset()
	return nil
}

func (r *tableRole) collect(send func(*proto.CollectReply) error) error {
	if err := r.collectSeries(send); err != nil {
		return err
	}
	if !r.calling.TryLock() { // a pass that failed may not have ended
		return nil
	}
	defer r.calling.Unlock()
	return collectHeld(r.station, r.server, send)
}
