// Package table implements the role of a server that holds an embedding table.
package table

import (
	"fmt"
	"sync"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/internal/comm/wire"
	"github.com/psbench/psbench/internal/host/fault"
	"github.com/psbench/psbench/internal/host/inspect"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/sdk"
)

// Role hosts the server of a table. Role takes the calls of all trainers, passes them to the server
// one at a time and measures each call.
type Role struct {
	*process.Process
	config           Config
	server           sdk.TableServer
	spec             comm.TableSpec
	lookups, updates *sdk.Series
	// calling is held while the server works. A call is recorded before it is answered. So when a
	// trainer has its last answer, everything is recorded.
	calling sync.Mutex
}

// Config is the configuration of a server of a table.
type Config struct {
	Seed      uint64
	Position  int // position among the servers
	Trainers  int // number of trainers in the run
	Summarize bool
}

// New builds the server of a table.
func New(p *process.Process, c Config) (*Role, error) {
	server, err := process.Build[sdk.TableServer](p, p.Part(), sdk.TableEnv{
		Rank: p.Rank(), Name: p.Name(), Position: c.Position, Seed: c.Seed,
		Trainers: c.Trainers, Recorder: p.Recorder, Engine: p.Engine,
	})
	if err != nil {
		return nil, err
	}
	r := &Role{Process: p, config: c, server: server, spec: server.Table()}
	if err := r.spec.Check(); err != nil {
		return nil, fmt.Errorf("server %s: %w", p.Part().Key, err)
	}
	r.lookups = p.Recorder.Series("embedding_metric", "lookup")
	r.updates = p.Recorder.Series("embedding_metric", "update")
	return r, nil
}

// Table returns the size of the table.
func (r *Role) Table() comm.TableSpec { return r.spec }

// Connect waits for the trainers and returns the part's facts. spec describes the tables that the
// trainers look up.
func (r *Role) Connect(spec comm.LookupSpec, trainers []process.Peer) (map[string]string, error) {
	position := r.config.Position
	if position < 0 || position >= len(spec.Tables) || spec.Tables[position] != r.spec {
		return nil, fmt.Errorf("%s holds a table of %d x %d, which is not table %d of %v", r.Name(), r.spec.Rows,
			r.spec.Width, position, spec.Tables)
	}
	conns := make([]*wire.Conn, len(trainers))
	for i, t := range trainers {
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
	return process.Facts(process.Facts(nil, r.Engine), r.server), nil
}

// handle takes a call from the port. The port answers the call afterwards.
func (r *Role) handle(call *comm.TableCall) error {
	if !r.Working.TryRLock() {
		return r.Over()
	}
	defer r.Working.RUnlock()
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

// describeCall names the batch of a call.
func describeCall(batch int64) string {
	if batch == comm.NoBatch {
		return "held-out samples"
	}
	return fmt.Sprintf("batch %d", batch)
}

// Reset returns the table to its initial values and clears the recorded values.
func (r *Role) Reset() error {
	r.calling.Lock()
	defer r.calling.Unlock()
	r.server.Reset()
	r.Recorder.Reset()
	return nil
}

// Collect sends the recorded values. If no call is running, Collect also sends the summary of the
// table.
func (r *Role) Collect(send record.Send) error {
	idle := r.calling.TryLock() // a failed pass may still be running
	var facts record.Facts
	if idle {
		defer r.calling.Unlock()
		facts = process.PassFactsOf(r.server)
	}
	if err := r.CollectRecorded(send); err != nil || !idle {
		return err
	}
	if err := process.SendPassFacts(facts, send); err != nil {
		return err
	}
	return inspect.CollectHeld(r.Engine, r.server, r.config.Summarize, send)
}
