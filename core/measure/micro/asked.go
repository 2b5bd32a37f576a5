package micro

import (
	"fmt"

	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/sdk"
)

// Who says what a server answers and a hook leaves, and which processes ask them.

// measuring is the plugin of the processes that measure: any can, that of the hook has the hook,
// and that of the server can say what this must answer, beside the hook if it has that as well. What
// speaks the protocol is in a process beside them.
func (p *Plan) measuring() registry.Plugin {
	asks := p.Expect == Part && p.serves() && !p.Server.Protocol
	switch {
	case p.some(hooked) && p.Hook.Protocol:
		return registry.Plugin{Name: registry.Builtin}
	case asks && (!p.some(hooked) || p.Server.Plugin.Has(p.Hook.Plugin.Name)):
		return p.Server.Plugin
	case p.some(hooked):
		return p.Hook.Plugin
	default:
		return registry.Plugin{Name: registry.Builtin}
	}
}

// asksServer says whether the server itself says, to those who measure, what it must answer.
func (p *Plan) asksServer() bool {
	by := p.measuring()
	asks := by.Has(p.Server.Plugin.Name)
	if p.Server.Protocol { // psbench's own processes ask it by frames
		asks = by.Name == registry.Builtin
	}
	return p.Expect == Part && p.serves() && canSay(p.Server) && asks
}

// canSay says whether a part may say what it answers: one that speaks the protocol is asked only if
// it declares that it does.
func canSay(part config.Part) bool { return !part.Protocol || part.Answers == sdk.AnswersOwn }

// hookExpect is what those who measure compare with what the hook leaves.
func (p *Plan) hookExpect() Expect {
	if p.HookExpect == Part && !canSay(p.Hook) {
		return Any
	}
	return p.HookExpect
}

// serverExpect is what those who measure compare the server's answer with.
func (p *Plan) serverExpect() Expect {
	if p.Expect == Part && !p.asksServer() {
		return Any
	}
	return p.Expect
}

// unchecked is why no value of a cell is compared, as far as the plan says so.
func (p *Plan) unchecked(c cell) string {
	switch o := c.operation; {
	case o.Served && p.Expect == Any, o.Hooked && p.HookExpect == Any:
		return "--expect is any"
	case o.Served && p.Expect == Part && !canSay(p.Server):
		return fmt.Sprintf("server %s speaks the protocol, and does not declare that it says what it answers",
			p.Server.Key)
	case o.Hooked && p.HookExpect == Part && !canSay(p.Hook):
		return fmt.Sprintf("hook %s speaks the protocol, and does not declare that it says what it leaves", p.Hook.Key)
	case o.Served && p.serverExpect() == Any:
		return fmt.Sprintf("hook %s measures, whose plugin %s does not have server %s", p.Hook.Key, p.Hook.Plugin.Name,
			p.Server.Key)
	}
	return ""
}
