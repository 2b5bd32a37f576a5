package process

import (
	"errors"
	"fmt"

	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

// OpenEngine opens the engine of the process's plugin, for a role that computes. CloseParts
// closes it.
func (p *Process) OpenEngine() error {
	if p.config.Engine == nil {
		return nil
	}
	done := p.limit("the engine of " + p.Title() + " is not open")
	e, err := p.config.Engine()
	done()
	if err == nil && e == nil {
		err = errors.New("what opens it gave none")
	}
	if err != nil {
		return fmt.Errorf("%s: the engine of %s does not open: %w", p.Name(), p.Title(), err)
	}
	p.Engine = e
	p.closesEngine("engine "+e.Name(), e)
	return nil
}

// Adopt has the engine adopt memory, which errors call what. CloseParts gives it up, before the
// engine is closed.
func (p *Process) Adopt(what string, memory [][]byte) error {
	adopted, err := engine.Adopt(p.Engine, what, memory)
	if err == nil && p.config.Engine != nil {
		p.closesEngine("what engine "+p.Engine.Name()+" adopted", adopted)
	}
	return err
}

// NeedBeside reports that a part of some kind, which computes in memory of the process's
// engine, would have to be in another process than its trainer: only ordinary memory goes
// between two.
func (p *Process) NeedBeside(kind sdk.Kind) error {
	if p.Engine.Addressable() {
		return nil
	}
	return fmt.Errorf("%s: %s computes in the memory of engine %s, which no other process sees, so its %s must be in one process with it: choose them of one plugin in Go, and do not isolate them",
		p.Name(), p.Title(), p.Engine.Name(), kind)
}
