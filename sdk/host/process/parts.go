package process

import (
	"fmt"
	"time"

	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/host/fault"
)

// Find is the part of this plugin that choice names.
func (p *Process) Find(choice Choice) (sdk.Part, error) {
	for _, part := range p.parts {
		if part.Kind == choice.Kind && part.Key == choice.Key && !part.InTrainer() {
			return part, nil
		}
	}
	return sdk.Part{}, fmt.Errorf("this plugin has no %s %q", choice.Kind, choice.Key)
}

// Build makes the part that choice names, of type P, from its environment. Servers
// of tables differ from other servers in both; New tells them apart.
func Build[P any](p *Process, choice Choice, env any) (P, error) {
	var none P
	part, err := p.Find(choice)
	if err != nil {
		return none, err
	}
	// While a part is made, others may wait for this process, but it is to blame.
	late := time.AfterFunc(p.Timeout, func() {
		p.Events.Fail(fmt.Errorf("%s: %s %s is not made after %g s", p.Name(), part.Kind, part.Key, p.Timeout.Seconds()))
	})
	made, err := part.Build(choice.Settings, env)
	late.Stop()
	if err != nil {
		return none, &fault.Part{Text: fmt.Sprintf("%s: %s", choice.Title(), quote.Message(err.Error())), Err: err}
	}
	return made.(P), nil
}

// Title is the process's own part, as errors name it.
func (p *Process) Title() string { return p.config.Part.Title() }
