// Package process is what every role has: its assignment, its place on the data plane, and
// the making of its parts.
package process

import (
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/fabric"
	"github.com/psbench/psbench/internal/comm/wire"
	"github.com/psbench/psbench/internal/host/checked"
	"github.com/psbench/psbench/internal/host/fault"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

// Process is what every role has: its assignment, its place on the data plane
// and its recorder.
type Process struct {
	config Config
	parts  []sdk.Part
	before map[string]bool // goroutines that ran when it was made
	// Fabric carries the run's links.
	Fabric *fabric.Fabric
	// Engine owns the memory that the process's parts compute in, from OpenEngine on.
	Engine engine.Engine
	// listener is a Unix socket, for data batches and companions; the hook's links
	// come to linkListener, which is the same one where they are Unix sockets too.
	listener, linkListener *wire.Listener
	Recorder               *sdk.Recorder
	Keeper                 *checked.Keeper // of what its links exchange; nil: it keeps nothing
	Timeout                time.Duration
	shared                 []comm.DeviceLink // the hook's
	Events                 *Events

	// owned are the goroutines of the role; they end once done is closed and
	// the links are.
	Owned sync.WaitGroup
	Done  chan struct{}
	ending
}

// New makes a process that can build these parts, and opens its sockets. Call Close even after an
// error.
func New(parts []sdk.Part, c Config, events *Events) (*Process, error) {
	p := &Process{
		config: c, parts: parts, before: running(), Events: events, Engine: engine.Host,
		Recorder: &sdk.Recorder{}, Timeout: c.Timeout,
		Done: make(chan struct{}),
	}
	if c.Check != nil {
		p.Keeper = checked.NewKeeper(*c.Check)
	}
	return p, p.listen()
}

func (p *Process) listen() (err error) {
	if p.Fabric, err = fabric.Open(p.config.Transport); err != nil { // the core knows it
		return fmt.Errorf("the plugin of %s is older than psbench: %w; build it with the sdk of this psbench", p.Name(),
			err)
	}
	if p.config.InsecureNetwork {
		p.Fabric = p.Fabric.Insecure()
	}
	socket := filepath.Join(p.config.Directory, p.Name()+".sock")
	if p.listener, err = wire.Unix.Listen(socket, p.Name(), p.config.Secret); err != nil {
		return err
	}
	p.Own(p.listener)
	if p.linkListener, err = p.listener.Beside(p.Fabric.Network, p.config.Listen); err != nil {
		return err
	}
	p.Own(p.linkListener)
	return nil
}

// Close ends what the role runs, the last link first, and waits for it. After a
// failure a part may be at work still, and the end of its links would take its
// memory away: then all is left to the end of the process.
func (p *Process) Close() {
	p.closing.Lock()
	defer p.closing.Unlock()
	if p.ended || !p.rest(closeGrace) {
		return
	}
	p.ended = true
	close(p.Done)
	p.breakLinks()
	_, engine := p.takeClosers() // some are left if CloseParts was not called, and its result is not needed
	for _, c := range engine {
		_, _ = c.closeWithin(p.Timeout)
	}
	for _, memory := range slices.Backward(p.memory) {
		_ = memory.Close() // as links are
	}
	p.Owned.Wait()
}

// StopListening closes the listening sockets. Call it once all links have come.
func (p *Process) StopListening() {
	_ = p.linkListener.Close()
	_ = p.listener.Close()
}

// Address is where the process takes what comes over Unix sockets.
func (p *Process) Address() string { return p.listener.Address() }

// LinkAddress is where it takes the links of the run's transport.
func (p *Process) LinkAddress() string { return p.linkListener.Address() }

// Name is the process's own, as in trainer0.
func (p *Process) Name() string { return p.config.Name }

// Rank returns the rank that the process belongs to; -1 for data.
func (p *Process) Rank() int { return p.config.Rank }

// Part is the process's own part.
func (p *Process) Part() Choice { return p.config.Part }

// Title is the process's own part, as errors name it.
func (p *Process) Title() string { return p.config.Part.Title() }

// NewStore allocates buckets where the run's links want them. The caller owns them.
func (p *Process) NewStore(specs []tensor.BucketSpec) (*comm.Store, error) {
	return p.Fabric.NewStore(p.Name(), specs)
}

// Fail tells the core of a failure outside a call.
func (p *Process) Fail(err error) {
	_ = p.Tells(err)
	p.Events.Fail(fault.Told(p.Name(), err))
}

// Over is the error of what comes when the parts are no longer to work.
func (p *Process) Over() error { return fmt.Errorf("%s is ending", p.Name()) }

// Find is the part of this plugin that choice names.
func (p *Process) Find(choice Choice) (sdk.Part, error) {
	for _, part := range p.parts {
		if part.Kind == choice.Kind && part.Key == choice.Key && !part.InTrainer() {
			return part, nil
		}
	}
	return sdk.Part{}, fmt.Errorf("this plugin has no %s %q", choice.Kind, choice.Key)
}

// Build makes the part that choice names, of type P, from its environment, to be closed by
// CloseParts. Servers of tables differ from other servers in both; New tells them apart.
func Build[P any](p *Process, choice Choice, env any) (P, error) {
	var none P
	part, err := p.Find(choice)
	if err != nil {
		return none, err
	}
	// While a part is made, others may wait for this process, but it is to blame.
	done := p.limit(fmt.Sprintf("%s %s is not made", part.Kind, part.Key))
	made, err := part.Build(choice.Settings, env)
	done()
	if err == nil {
		p.Closes(choice.Title(), made)
		err = p.Recorder.Err()
	}
	if err != nil {
		return none, &fault.Part{Text: fmt.Sprintf("%s: %s", choice.Title(), quote.Message(err.Error())), Err: err}
	}
	return made.(P), nil
}

// limit tells of what has not come about after the timeout, unless what it returns is called
// before.
func (p *Process) limit(what string) (done func()) {
	late := time.AfterFunc(p.Timeout, func() {
		p.Events.Fail(fmt.Errorf("%s: %s after %g s", p.Name(), what, p.Timeout.Seconds()))
	})
	return func() { late.Stop() }
}
