// Package process implements the common base of all roles: the assignment, the connections to other
// processes, and the construction of parts.
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

// Process is the common base of all roles: the assignment, the sockets on the data plane and the
// recorder.
type Process struct {
	config Config
	parts  []sdk.Part
	before map[string]bool // goroutines that ran before the process was made
	// Fabric carries the run's links.
	Fabric *fabric.Fabric
	// Engine owns the memory that the process's parts compute in. OpenEngine sets Engine.
	Engine engine.Engine
	// listener is a Unix socket for data batches and companions. linkListener accepts the hook's
	// links. The two are the same listener if the hook's links are Unix sockets too.
	listener, linkListener *wire.Listener
	Recorder               *sdk.Recorder
	Keeper                 *checked.Keeper // keeps slices of exchanges; nil if none are kept
	Timeout                time.Duration
	shared                 []comm.DeviceLink // links of the hook
	Events                 *Events

	// Owned counts the goroutines of the role. These goroutines end once Done and the links are
	// closed.
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
	if p.Fabric, err = fabric.Open(p.config.Transport); err != nil { // the core has checked the name
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

// Close ends the role's work, starting with the last link, and waits for it. After a failure, a
// part may still be working and would lose the memory that its links use. Close then does nothing,
// and the end of the process frees everything.
func (p *Process) Close() {
	p.closing.Lock()
	defer p.closing.Unlock()
	if p.ended || !p.rest(closeGrace) {
		return
	}
	p.ended = true
	close(p.Done)
	p.breakLinks()
	_, engine := p.takeClosers() // empty if CloseParts has run; errors do not matter here
	for _, c := range engine {
		_, _ = c.closeWithin(p.Timeout)
	}
	for _, memory := range slices.Backward(p.memory) {
		_ = memory.Close() // errors do not matter, as with links
	}
	p.Owned.Wait()
}

// StopListening closes the listening sockets. Call StopListening once all links are connected.
func (p *Process) StopListening() {
	_ = p.linkListener.Close()
	_ = p.listener.Close()
}

// Address returns the process's address for Unix sockets.
func (p *Process) Address() string { return p.listener.Address() }

// LinkAddress returns the process's address for links of the run's transport.
func (p *Process) LinkAddress() string { return p.linkListener.Address() }

// Name returns the process's name, such as trainer0.
func (p *Process) Name() string { return p.config.Name }

// Rank returns the rank that the process belongs to; -1 for data.
func (p *Process) Rank() int { return p.config.Rank }

// Part returns the choice of the process's own part.
func (p *Process) Part() Choice { return p.config.Part }

// Title returns the title of the process's part, as used in errors.
func (p *Process) Title() string { return p.config.Part.Title() }

// NewStore allocates buckets in the memory that the run's links need. The caller owns the store.
func (p *Process) NewStore(specs []tensor.BucketSpec) (*comm.Store, error) {
	return p.Fabric.NewStore(p.Name(), specs)
}

// Fail reports to the core a failure outside a call.
func (p *Process) Fail(err error) {
	_ = p.Tells(err)
	p.Events.Fail(fault.Told(p.Name(), err))
}

// Over returns the error for calls that come after the parts have stopped.
func (p *Process) Over() error { return fmt.Errorf("%s is ending", p.Name()) }

// Find returns the part of this plugin that choice names.
func (p *Process) Find(choice Choice) (sdk.Part, error) {
	for _, part := range p.parts {
		if part.Kind == choice.Kind && part.Key == choice.Key && !part.InTrainer() {
			return part, nil
		}
	}
	return sdk.Part{}, fmt.Errorf("this plugin has no %s %q", choice.Kind, choice.Key)
}

// Build builds the part that choice names, which must be of type P. CloseParts closes the part.
// Servers of tables and other servers differ in both their interface and their environment; New
// tells them apart.
func Build[P any](p *Process, choice Choice, env any) (P, error) {
	var none P
	part, err := p.Find(choice)
	if err != nil {
		return none, err
	}
	// While the part is built, other processes may wait for this one. limit makes the error name this
	// part and not the waiting processes.
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

// limit reports a failure after the timeout, unless the returned function is called before.
func (p *Process) limit(what string) (done func()) {
	late := time.AfterFunc(p.Timeout, func() {
		p.Events.Fail(fmt.Errorf("%s: %s after %g s", p.Name(), what, p.Timeout.Seconds()))
	})
	return func() { late.Stop() }
}
