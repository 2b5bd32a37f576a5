package process

import (
	"io"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/fabric"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/comm/wire"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/host/fault"
	"github.com/psbench/psbench/sdk/proto"
)

// Process is what every role has: its assignment, its place on the data plane
// and its recorder.
type Process struct {
	Req   *proto.ConfigureRequest
	parts []sdk.Part
	// Fabric carries the run's links.
	Fabric *fabric.Fabric
	// listener is a Unix socket, for data batches and companions; the hook's links
	// come to linkListener, which is the same one where they are Unix sockets too.
	listener, linkListener *wire.Listener
	Recorder               *sdk.Recorder
	Timeout                time.Duration
	Events                 *Events

	// owned are the goroutines of the role; they end once done is closed and
	// the links are.
	Owned sync.WaitGroup
	Done  chan struct{}
	links []io.Closer // and memory
	// working is held for reading while a part works, in memory that links share.
	Working sync.RWMutex
}

func New(parts []sdk.Part, req *proto.ConfigureRequest, events *Events) (*Process, error) {
	st := &Process{
		Req: req, parts: parts, Events: events,
		Recorder: &sdk.Recorder{}, Timeout: time.Duration(req.GetTimeoutNs()),
		Done: make(chan struct{}),
	}
	return st, st.listen()
}

func (st *Process) listen() (err error) {
	if st.Fabric, err = fabric.Open(st.Req.GetTransport()); err != nil {
		return err
	}
	socket := filepath.Join(st.Req.GetDirectory(), st.Name()+".sock")
	if st.listener, err = wire.Unix.Listen(socket, st.Name(), st.Req.GetSecret()); err != nil {
		return err
	}
	st.linkListener, err = st.listener.Beside(st.Fabric.Network, st.Req.GetListen())
	return err
}

// Own leaves it to close to close a link, or memory.
func (st *Process) Own(link io.Closer) { st.links = append(st.links, link) }

// closeGrace is how long close waits for a part to end its work.
const closeGrace = 100 * time.Millisecond

// Close ends what the role runs, the last link first, and waits for it. After a
// failure a part may be at work still, and the end of its links would take its
// memory away: then all is left to the end of the process.
func (st *Process) Close() {
	if !Within(closeGrace, st.Working.TryLock) { // for good: no part begins any more
		return
	}
	close(st.Done)
	for _, link := range slices.Backward(st.links) {
		_ = link.Close() // the run is over: nobody is left to tell
	}
	st.StopListening()
	st.Owned.Wait()
}

// StopListening closes the sockets on which links come: once all have, nobody else is
// to call.
func (st *Process) StopListening() {
	for _, l := range []*wire.Listener{st.linkListener, st.listener} {
		if l != nil {
			_ = l.Close()
		}
	}
}

// Within tries until it succeeds or some time is over.
func Within(limit time.Duration, try func() bool) bool {
	for start := time.Now(); !try(); time.Sleep(time.Millisecond) {
		if time.Since(start) > limit {
			return false
		}
	}
	return true
}

// Address is where the process takes what comes over Unix sockets.
func (st *Process) Address() string { return st.listener.Address() }

// LinkAddress is where it takes the links of the run's transport.
func (st *Process) LinkAddress() string { return st.linkListener.Address() }

func (st *Process) Name() string { return st.Req.GetName() }
func (st *Process) Rank() int    { return int(st.Req.GetRank()) }

// NewStore allocates buckets where the run's links want them. The caller owns them.
func (st *Process) NewStore(specs []tensor.BucketSpec) (*comm.Store, error) {
	return st.Fabric.NewStore(st.Name(), specs)
}

// Fail tells the core of a failure outside a call.
func (st *Process) Fail(err error) { st.Events.Fail(fault.Told(st.Name(), err)) }
