package process

import (
	"errors"
	"fmt"

	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

// OpenEngine opens the engine of the process's plugin. A role that computes calls OpenEngine;
// CloseParts closes the engine.
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

// Adopt makes the engine adopt memory. The argument what names the memory in errors. CloseParts
// releases the memory before it closes the engine.
func (p *Process) Adopt(what string, memory [][]byte) error {
	adopted, err := engine.Adopt(p.Engine, what, memory)
	if err == nil && p.config.Engine != nil {
		p.closesEngine("what engine "+p.Engine.Name()+" adopted", adopted)
	}
	return err
}

// NeedBeside returns an error if the process's engine computes in memory of its own. Other processes
// cannot see that memory, so the part of this kind must run in the same process.
func (p *Process) NeedBeside(kind sdk.Kind) error {
	if p.Engine.Addressable() {
		return nil
	}
	return fmt.Errorf("%s: %s computes in the memory of engine %s, which no other process sees, so its %s must be in one process with it: choose them of one plugin in Go, and do not isolate them",
		p.Name(), p.Title(), p.Engine.Name(), kind)
}
