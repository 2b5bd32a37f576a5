package harness

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/fabric"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/internal/host/server"
	"github.com/psbench/psbench/internal/host/table"
)

const (
	// MaxBatch is the value of MaxBatch in the environment of parts, unless a point needs more samples.
	MaxBatch = 64
	// Batches is the number of batches per epoch for a trainer that carries out a point.
	Batches = 4

	// TrainedEpochs is the number of epochs that a trainer trains.
	TrainedEpochs = 2
	// Moment is how long a check waits for events that must not occur.
	Moment = 30 * time.Millisecond

	// hostGrace is extra time for the host to end its work.
	hostGrace = 5 * time.Second
)

// transport is a transport that keeps buckets on the heap. There, the test finds a part that writes too late. In
// mapped memory, such a write could hit unmapped pages and end the test's process.
var transport = func() string {
	for _, name := range fabric.Names() {
		if f, err := fabric.Open(name); err == nil && f.OnOneHost() && !f.Maps() {
			return name
		}
	}
	return fabric.Default().Name
}()

// secret authenticates the world's links.
var secret = []byte("plugintest plugintest plugintest")

// world is all processes of a run inside this process: ranks that carry out points, and the tested server if there
// is one. Each has psbench's own host, and a real fabric connects them.
type world struct {
	subject *Subject
	point   Point
	folder  string     // folder of sockets
	mu      sync.Mutex // guards procs, because a slow world may add processes while it is closed
	procs   []*process.Process
	ranks   []*Rank
	server  *server.Role
	tables  []*table.Role
	plan    []tensor.BucketSpec
}

// inWorld carries out the point on ranks of this process.
func (p Point) inWorld(s *Subject) error {
	w := &world{subject: s, point: p, plan: s.Buckets(p.Large)}
	err := Within(s.Patience()+hostGrace, w.carry)
	var peer *comm.PeerError
	if told := w.told(); told != nil && !errors.As(told, &peer) {
		err = told // a process's own error explains the errors of the ranks
	}
	if end := Within(s.Patience(), w.close); err == nil {
		err = end
	}
	return err
}

func (w *world) carry() error {
	if err := w.open(w.point.Ranks); err != nil {
		return err
	}
	for pass := range max(1, w.point.Passes) {
		if err := w.reset(pass); err != nil {
			return err
		}
		if err := w.together(func(i int) error { return w.point.Carry(w.ranks[i]) }); err != nil {
			return err
		}
	}
	return w.compare()
}

// compare compares the digests of the ranks.
func (w *world) compare() error {
	for _, r := range w.ranks[1:] {
		for what, here := range r.Told {
			if there := w.ranks[0].Told[what]; here != there {
				return fmt.Errorf("%s is %s on rank 0 and %s on rank %d", what, there, here, r.Position)
			}
		}
	}
	return nil
}

// together runs step on all ranks at once. together returns the error of one that failed.
func (w *world) together(step func(rank int) error) error {
	errs := make(chan error, len(w.ranks))
	for i := range w.ranks {
		go func() { errs <- Recovered(func() error { return step(i) }) }()
	}
	var first error
	for range w.ranks {
		if err := <-errs; first == nil {
			first = err
		}
	}
	return first
}

// told returns an error that a process found outside of a call. Errors of a server come first.
func (w *world) told() error {
	for _, p := range w.processes() {
		select {
		case err := <-p.Events.Failures:
			return err
		default:
		}
	}
	return nil
}

// processes returns the processes created so far.
func (w *world) processes() []*process.Process {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.procs)
}

// reset resets everything before a pass. Before a second pass it resets twice, which must have the same effect.
func (w *world) reset(pass int) error {
	for range min(pass, 1) + 1 {
		if w.server != nil {
			if err := w.server.Reset(); err != nil {
				return err
			}
			if err := w.server.Expect(nil); err != nil {
				return err
			}
		}
		for _, t := range w.tables {
			if err := t.Reset(); err != nil {
				return err
			}
		}
		for _, r := range w.ranks {
			r.Pass = pass
			r.Recorder.Reset()
			if r.Hook != nil {
				r.Hook.Reset()
			}
		}
	}
	return nil
}

// close closes the parts, then the trainers' links, and finally the servers' links.
func (w *world) close() error {
	var first error
	all := w.processes()
	for _, p := range all {
		if err := p.CloseParts(w.subject.Patience()); first == nil {
			first = err
		}
		if err := p.Recorder.Err(); first == nil {
			first = err
		}
	}
	var closing sync.WaitGroup
	for _, p := range all {
		closing.Go(p.Close)
	}
	closing.Wait()
	if w.folder != "" {
		_ = os.RemoveAll(w.folder) // a leftover temporary folder does no harm
	}
	return first
}
