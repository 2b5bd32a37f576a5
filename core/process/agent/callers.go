package agent

import (
	"context"
	"fmt"
	"sync"

	"google.golang.org/grpc/stats"
)

// caller is the peer of a connection for calls. The first connection belongs to the core. The later ones belong to runs
// that the core conducts, each in its own process.
type caller struct{ conducted bool }

type callerKey struct{}

// callerOf returns the caller that ctx carries.
func callerOf(ctx context.Context) *caller {
	c, _ := ctx.Value(callerKey{}).(*caller)
	return c
}

// callers assigns a caller to each connection, and notifies the agent when a connection ends.
type callers struct {
	agent *agent
	core  sync.Once
}

// TagRPC implements stats.Handler.
func (*callers) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

// HandleRPC implements stats.Handler.
func (*callers) HandleRPC(context.Context, stats.RPCStats) {}

// TagConn implements stats.Handler.
func (c *callers) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context {
	who := &caller{conducted: true}
	c.core.Do(func() { who.conducted = false })
	return context.WithValue(ctx, callerKey{}, who)
}

// HandleConn implements stats.Handler.
func (c *callers) HandleConn(ctx context.Context, s stats.ConnStats) {
	if _, ended := s.(*stats.ConnEnd); !ended {
		return
	}
	a, who := c.agent, callerOf(ctx)
	if !who.conducted {
		a.leave(fmt.Errorf("the connection to the core%s has ended", a.core()))
		return
	}
	a.ending.Go(func() { _ = a.close(who, false) }) // the caller has disconnected, so no one reads the error
}
