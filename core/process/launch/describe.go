package launch

import (
	"context"
	"fmt"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/core/process/launch/limit"
	"github.com/psbench/psbench/internal/host/convert"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/proto"
)

// Describe starts a plugin, asks for its description and ends it.
func Describe(ctx context.Context, pl registry.Plugin) (said registry.Description, err error) {
	if err := limit.Check(1); err != nil {
		return said, err
	}
	l, err := New(handshakeTimeout, Output{})
	if err != nil {
		return said, err
	}
	defer func() { _ = l.Close(true) }()
	p, err := l.Start(ctx, Spec{Name: "plugin " + pl.Name, Plugin: pl})
	if err != nil {
		return said, err
	}
	limited, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	reply, err := p.Describe(limited, &proto.DescribeRequest{})
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return said, context.Cause(ctx)
	case limited.Err() != nil:
		return said, &comm.WaitError{Waiter: "the core", For: []string{p.Name}, What: "the list of its parts",
			Seconds: handshakeTimeout.Seconds()}
	default:
		return said, fmt.Errorf("plugin %s does not say what it provides: %s%s", pl.Name, p.unanswered(err),
			p.lastWords())
	}
	said.Contract = p.Contract()
	for _, d := range reply.GetParts() {
		said.Parts = append(said.Parts, convert.PartFromProto(d))
	}
	return said, checkParts(pl.Name, said.Parts)
}

// checkParts returns an error if a part is declared twice, because it would be unclear which of them runs.
func checkParts(plugin string, parts []sdk.Part) error {
	type name struct {
		kind sdk.Kind
		key  string
	}
	declared := map[name]bool{}
	for _, p := range parts {
		n := name{p.Kind, p.Key}
		if declared[n] {
			return fmt.Errorf("plugin %s declares %s %q twice: a plugin has one part of each kind and key", plugin,
				n.kind, n.key)
		}
		declared[n] = true
	}
	return nil
}
