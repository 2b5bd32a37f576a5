package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/core/process/launch"
	"github.com/psbench/psbench/internal/host/convert"
	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/sdk/proto"
)

// Process is a running process that can be called.
type Process interface {
	proto.PartClient
	// Site returns where it runs.
	Site() Site
	// PID returns its number on its host.
	PID() int
	// StartTook returns the time from exec to the end of the handshake.
	StartTook() time.Duration
	// Contract returns the version of its contract, as in 2.0; "" before its handshake.
	Contract() string
	// Exited returns a channel that is closed when it has ended.
	Exited() <-chan struct{}
	// LastWords returns its last output on one line.
	LastWords() string
	// Raised returns the Python exception that ended its output, and where it was raised; "" if there is none.
	Raised() (what, where string)
	// Death says, once Exited is closed, how it ended and what it last printed. phase is what the run was doing.
	Death(phase string) error
}

// LostError is the end of a process whose host is lost, so nothing more is known.
type LostError struct{ Err error }

func (e *LostError) Error() string { return e.Err.Error() }

// Unwrap is for package errors.
func (e *LostError) Unwrap() error { return e.Err }

// Wait says how long a call may take, and what the core waits for.
type Wait struct {
	Limit time.Duration // 0: none
	For   string
}

// Unbounded is for calls without a limit of their own: every wait inside them has a deadline, and the monitor
// watches every process.
var Unbounded = Wait{}

// Each calls do for all members at once and waits for all. It returns the first error.
func Each[M member](ctx context.Context, c *Cluster, members []M, wait Wait, do func(context.Context, M) error) error {
	errs := make(chan error, len(members))
	for _, m := range members {
		go func() {
			errs <- c.monitor.Call(ctx, m.base().Name, wait.Limit, wait.For,
				func(ctx context.Context) error { return do(ctx, m) })
		}()
	}
	var first error
	for range members {
		if err := <-errs; err != nil && first == nil {
			first = err
		}
	}
	return first
}

// Start starts all processes.
func (c *Cluster) Start(ctx context.Context) error {
	if err := c.readClocks(ctx); err != nil { // all later stamps need the clocks
		return err
	}
	specs := map[*Member]launch.Spec{}
	for _, m := range c.members { // before the start, since the variables depend on all sites
		specs[m] = launch.Spec{Name: m.Name, Plugin: m.Plugin, Env: m.Env(), Input: m.Input}
	}
	err := Each(ctx, c, c.members, Unbounded, func(ctx context.Context, m *Member) error {
		p, err := c.starter.Start(ctx, specs[m])
		if err != nil {
			return err
		}
		m.Process = p
		c.monitor.Watch(m.Name, p, m.Follower)
		return nil
	})
	if err != nil {
		return err
	}
	return c.watchClocks(ctx)
}

// Configure makes each process become its part. request says which part; Configure adds who and where the process
// is, and in which run.
func Configure[M member](ctx context.Context, c *Cluster, members []M, request func(M) *proto.ConfigureRequest,
	done func(M, *proto.ConfigureReply)) error {
	return Each(ctx, c, members, Wait{c.timeout, "loading"}, func(ctx context.Context, m M) error {
		b := m.base()
		reply, err := b.Configure(ctx, c.identify(b, request(m)))
		if err != nil {
			return err
		}
		b.Address, b.LinkAddress = reply.GetAddress(), reply.GetLinkAddress()
		done(m, reply)
		return nil
	})
}

// identify completes a request to configure m.
func (c *Cluster) identify(m *Member, req *proto.ConfigureRequest) *proto.ConfigureRequest {
	site := m.Site()
	req.Name, req.Secret, req.TimeoutNs, req.Directory = m.Name, c.secret, int64(c.timeout), site.Directory
	if site.Listen != "" {
		req.Listen = site.Listen
	}
	return req
}

// Connect makes each process join its links.
func Connect[M member](ctx context.Context, c *Cluster, members []M, request func(M) *proto.ConnectRequest, done func(M,
	*proto.ConnectReply)) error {
	return Each(ctx, c, members, Wait{2 * c.timeout, "its links"}, func(ctx context.Context, m M) error {
		reply, err := m.base().Connect(ctx, request(m))
		if err == nil {
			done(m, reply)
		}
		return err
	})
}

// Reset brings each process to its initial state, from which a pass starts.
func Reset[M member](ctx context.Context, c *Cluster, members []M, pass record.Pass) error {
	return Each(ctx, c, members, Wait{c.timeout, "its reset"}, func(ctx context.Context, m M) error {
		_, err := m.base().Reset(ctx, &proto.ResetRequest{Pass: convert.PassToProto(pass)})
		return err
	})
}

// closeSlack is how much later than its parts' limit a process may answer.
const closeSlack = time.Second

// closeParts makes the process close its parts, which together may take limit, until ctx ends. It notes what they
// leave running.
func (m *Member) closeParts(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit+closeSlack)
	defer cancel()
	reply, err := m.Close(ctx, &proto.CloseRequest{LimitNs: int64(limit)})
	m.left = quote.Message(reply.GetLeft())
	switch {
	case err == nil, status.Code(err) == codes.Unimplemented: // an older contract has no such call
		return nil
	case ctx.Err() != nil:
		return &comm.WaitError{Waiter: "the core", For: []string{m.Name}, What: "the end of its parts",
			Seconds: limit.Seconds()}
	// The process died in its parts, which is reported soon, or it is lost.
	case status.Code(err) == codes.Unavailable, status.Code(err) == codes.Canceled:
		select {
		case <-m.Exited():
			return m.Death("closing")
		case <-ctx.Done():
			return fmt.Errorf("%s no longer answers", m.Name)
		}
	}
	return errors.New(quote.Message(status.Convert(err).Message()))
}
