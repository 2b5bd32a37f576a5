package sdk

import (
	"io"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk/proto"
)

// station is what every role has: its assignment, its place on the data plane
// and its recorder.
type station struct {
	req   *proto.ConfigureRequest
	parts []Part
	// listener is a Unix socket, for data batches and companions; the hook's links
	// come to linkListener, which is the same one where they are Unix sockets too.
	listener, linkListener *comm.Listener
	recorder               *Recorder
	timeout                time.Duration
	events                 *events

	// owned are the goroutines of the role; they end once done is closed and
	// the links are.
	owned sync.WaitGroup
	done  chan struct{}
	links []io.Closer // and memory
	// working is held for reading while a part works, in memory that links share.
	working sync.RWMutex
}

func newStation(parts []Part, req *proto.ConfigureRequest, events *events) (*station, error) {
	st := &station{
		req: req, parts: parts, events: events,
		recorder: &Recorder{}, timeout: time.Duration(req.GetTimeoutNs()),
		done: make(chan struct{}),
	}
	return st, st.listen()
}

func (st *station) listen() (err error) {
	if err := comm.CheckTransport(st.req.GetTransport()); err != nil {
		return err
	}
	if st.listener, err = st.listenOn(comm.Unix, filepath.Join(st.req.GetDirectory(), st.name()+".sock")); err != nil {
		return err
	}
	st.linkListener = st.listener
	if t := st.transport(); t == comm.TCP || t == comm.GRPC {
		st.linkListener, err = st.listenOn(t, st.req.GetListen())
	}
	return err
}

func (st *station) listenOn(network comm.Transport, address string) (*comm.Listener, error) {
	return comm.Listen(network, address, st.name(), st.req.GetSecret())
}

// own leaves it to close to close a link, or memory.
func (st *station) own(link io.Closer) { st.links = append(st.links, link) }

// closeGrace is how long close waits for a part to end its work.
const closeGrace = 100 * time.Millisecond

// close ends what the role runs, the last link first, and waits for it. After a
// failure a part may be at work still, and the end of its links would take its
// memory away: then all is left to the end of the process.
func (st *station) close() {
	if !within(closeGrace, st.working.TryLock) { // for good: no part begins any more
		return
	}
	close(st.done)
	for _, link := range slices.Backward(st.links) {
		_ = link.Close() // the run is over: nobody is left to tell
	}
	st.stopListening()
	st.owned.Wait()
}

// stopListening closes the sockets on which links come: once all have, nobody else is
// to call.
func (st *station) stopListening() {
	for _, l := range []*comm.Listener{st.linkListener, st.listener} {
		if l != nil {
			_ = l.Close()
		}
	}
}

// within tries until it succeeds or some time is over.
func within(limit time.Duration, try func() bool) bool {
	for start := time.Now(); !try(); time.Sleep(time.Millisecond) {
		if time.Since(start) > limit {
			return false
		}
	}
	return true
}

// address is where the process takes what comes over Unix sockets.
func (st *station) address() string { return st.listener.Address() }

// linkAddress is where it takes the links of the run's transport.
func (st *station) linkAddress() string { return st.linkListener.Address() }

func (st *station) name() string { return st.req.GetName() }
func (st *station) rank() int    { return int(st.req.GetRank()) }

// transport is what carries the run's gradients.
func (st *station) transport() comm.Transport { return comm.Transport(st.req.GetTransport()) }

// companionTransport is what joins a trainer and its companions, which share a
// host in every run.
func (st *station) companionTransport() comm.Transport {
	if st.transport() == comm.Shm {
		return comm.Shm
	}
	return comm.Unix
}

// newStore allocates buckets where the run's transport wants them. The caller
// owns them.
func (st *station) newStore(specs []tensor.BucketSpec) (*comm.Store, error) {
	if st.transport() == comm.Shm {
		return comm.NewSharedStore(st.name(), specs)
	}
	return comm.NewStore(specs), nil
}

// fail tells the core of a failure outside a call.
func (st *station) fail(err error) { st.events.fail(told(st.name(), err)) }
