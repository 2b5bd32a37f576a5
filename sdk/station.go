package sdk

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/quote"
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
	return heapStore(specs)
}

func heapStore(specs []tensor.BucketSpec) (*comm.Store, error) { return comm.NewStore(specs), nil }

// find is the part of this plugin that choice names.
func (st *station) find(choice *proto.PartChoice) (Part, error) {
	for _, part := range st.parts {
		if part.Kind == Kind(choice.GetKind()) && part.Key == choice.GetKey() && part.build != nil {
			return part, nil
		}
	}
	return Part{}, fmt.Errorf("this plugin has no %s %q", choice.GetKind(), choice.GetKey())
}

// build makes the part that choice names, of type P, from its environment. Servers
// of tables differ from other servers in both; newServerRole tells them apart.
func build[P any](st *station, choice *proto.PartChoice, env any) (P, error) {
	var none P
	part, err := st.find(choice)
	if err != nil {
		return none, err
	}
	// While a part is made, others may wait for this process, but it is to blame.
	late := time.AfterFunc(st.timeout, func() {
		st.events.fail(fmt.Errorf("%s: %s %s is not made after %g s", st.name(), part.Kind, part.Key, st.timeout.Seconds()))
	})
	made, err := part.build(choice.GetSettings(), env)
	late.Stop()
	if err != nil {
		title := titleOf(choice)
		return none, &partError{text: fmt.Sprintf("%s: %s", title, quote.Message(err.Error())), err: err}
	}
	return made.(P), nil
}

// local is the choice of a part that the process holds beside its own, or nil
// if the part lives in a companion.
func (st *station) local(kind Kind) *proto.PartChoice {
	for _, c := range st.req.GetLocal() {
		if Kind(c.GetKind()) == kind {
			return c
		}
	}
	return nil
}

// Purposes of a link; a hello names one.
const (
	purposePush      = "push"      // a hook process to its server
	purposeTables    = "tables"    // a trainer to the server of a table
	purposeGroup     = "group"     // a ring of trainers
	purposeDefault   = "default"   // the second ring
	purposeBatches   = "batches"   // a trainer to the data process
	purposeCompanion = "companion" // a trainer to a companion
)

func (st *station) dial(to *proto.Peer, purpose string) (*comm.Conn, error) {
	return comm.Dial(to.GetAddress(), st.name(), to.GetName(), purpose, st.req.GetSecret(), st.timeout)
}

func (st *station) accept(from *proto.Peer, purpose string) (*comm.Conn, error) {
	listener := st.listener
	switch purpose {
	case purposePush, purposeTables, purposeGroup, purposeDefault:
		listener = st.linkListener
	}
	return listener.Accept(purpose, from.GetName(), st.timeout)
}

// samplesPerReply keeps a reply of Collect well under a megabyte.
const samplesPerReply = 16384

// collectGrace is how long Collect waits for a pass that failed to end. What is
// collected while it still runs may end in the middle of an iteration.
const collectGrace = time.Second

// collectSeries sends the recorder's series.
func (st *station) collectSeries(send func(*proto.CollectReply) error) error {
	return sendSeries(st.recorder.snapshots(), send)
}

// sendSeries sends series in pieces.
func sendSeries(all []snapshot, send func(*proto.CollectReply) error) error {
	for _, s := range all {
		piece := &proto.Series{Type: s.Type, Name: s.Name}
		for i, chunk := range s.chunks {
			for _, m := range chunk {
				piece.KeyA = append(piece.KeyA, m.Key.A)
				piece.KeyB = append(piece.KeyB, m.Key.B)
				piece.StartNs = append(piece.StartNs, m.StartNS)
				piece.DurationNs = append(piece.DurationNs, m.DurationNS)
			}
			if n := len(piece.StartNs); n == 0 || n < samplesPerReply && i < len(s.chunks)-1 {
				continue
			}
			if err := send(&proto.CollectReply{Series: []*proto.Series{piece}}); err != nil {
				return err
			}
			piece = &proto.Series{Type: s.Type, Name: s.Name}
		}
	}
	return nil
}

// facts asks a part for what it has to report.
func facts(into map[string]string, part any) map[string]string {
	if d, ok := part.(Describer); ok {
		if into == nil {
			into = map[string]string{}
		}
		for k, v := range d.Facts() {
			into[k] = v
		}
	}
	return into
}

// peakRSSBytes is the high-water mark of this process's resident memory, or 0
// if the kernel does not tell.
func peakRSSBytes() int64 {
	raw, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(raw, []byte("VmHWM:"))
	fields := bytes.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	kib, err := strconv.ParseInt(string(fields[0]), 10, 64)
	if err != nil {
		return 0
	}
	return kib << 10
}
