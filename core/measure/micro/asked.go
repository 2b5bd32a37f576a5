package micro

import (
	"fmt"

	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/sdk"
)

// This file decides which part states the expected answers of a server and the expected results of a hook. It also
// decides which processes ask that part.

// measuring returns the plugin of the measuring processes. The hook's plugin contains the hook. The server's plugin can
// compute the server's answers; it is preferred for this if it also contains the hook. A part that speaks the protocol
// runs in a companion, so psbench's own plugin measures it.
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

// asksServer reports whether the measuring processes can ask the server's part for its answers.
func (p *Plan) asksServer() bool {
	by := p.measuring()
	asks := by.Has(p.Server.Plugin.Name)
	if p.Server.Protocol { // psbench's own processes ask it by frames
		asks = by.Name == registry.Builtin
	}
	return p.Expect == Part && p.serves() && canSay(p.Server) && asks
}

// canSay reports whether a part can state its own answers. A part that speaks the protocol must declare that it can.
func canSay(part config.Part) bool { return !part.Protocol || part.Answers == sdk.AnswersOwn }

// hookExpect returns the values that the measuring processes expect from the hook.
func (p *Plan) hookExpect() Expect {
	if p.HookExpect == Part && !canSay(p.Hook) {
		return Any
	}
	return p.HookExpect
}

// serverExpect returns the values that the measuring processes expect from the server.
func (p *Plan) serverExpect() Expect {
	if p.Expect == Part && !p.asksServer() {
		return Any
	}
	return p.Expect
}

// unchecked explains why the values of a cell are not compared. It returns "" if the plan gives no reason.
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
