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

// Process is a running process that the core can call.
type Process interface {
	proto.PartClient
	// Site returns where the process runs.
	Site() Site
	// PID returns the process ID on the process's host.
	PID() int
	// StartTook returns the time from exec to the end of the handshake.
	StartTook() time.Duration
	// Contract returns the version of the process's plugin contract, as in 2.0, or "" before the handshake.
	Contract() string
	// Exited returns a channel that is closed when the process has ended.
	Exited() <-chan struct{}
	// LastWords returns the last output of the process on one line.
	LastWords() string
	// Raised returns the Python exception at the end of the process's output and where it was raised, or "" if there is
	// none.
	Raised() (what, where string)
	// Death returns an error that says how the process ended and what it printed last. Call it only after Exited is
	// closed. phase is what the run was doing.
	Death(phase string) error
}

// LostError is the error for a process whose host is lost. Nothing more is known about its end.
type LostError struct{ Err error }

func (e *LostError) Error() string { return e.Err.Error() }

// Unwrap returns the wrapped error for package errors.
func (e *LostError) Unwrap() error { return e.Err }

// Wait limits a call, and says for messages what the core waits for.
type Wait struct {
	Limit time.Duration // 0 means no limit
	For   string
}

// Unbounded is the Wait for calls that need no limit. Every wait inside such a call has its own deadline, and the
// monitor watches every process.
var Unbounded = Wait{}

// Each calls do for all members in parallel and waits until all calls have returned. Each returns the first error.
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
	if err := c.readClocks(ctx); err != nil { // all later timestamps need the clocks
		return err
	}
	specs := map[*Member]launch.Spec{}
	for _, m := range c.members { // all sites must be known before the start, because the variables depend on them
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

// Configure makes each process load its part. request returns the configuration of the part. Configure adds the name
// and place of the process, and the facts that are the same for the whole run.
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

// identify adds the name and place of m, and the run's secret and timeout, to a request.
func (c *Cluster) identify(m *Member, req *proto.ConfigureRequest) *proto.ConfigureRequest {
	site := m.Site()
	req.Name, req.Secret, req.TimeoutNs, req.Directory = m.Name, c.secret, int64(c.timeout), site.Directory
	if site.Listen != "" {
		req.Listen = site.Listen
	}
	return req
}

// Connect makes each process open its links.
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

// Reset returns each process to its initial state, so that a pass can start.
func Reset[M member](ctx context.Context, c *Cluster, members []M, pass record.Pass) error {
	return Each(ctx, c, members, Wait{c.timeout, "its reset"}, func(ctx context.Context, m M) error {
		_, err := m.base().Reset(ctx, &proto.ResetRequest{Pass: convert.PassToProto(pass)})
		return err
	})
}

// closeSlack is how much longer than the limit of its parts a process may take to answer.
const closeSlack = time.Second

// closeParts makes the process close its parts. All parts together may take limit; closeParts stops waiting when ctx
// ends. closeParts records in m.left what the parts left running.
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
	// Either the process died while it closed its parts, and Exited closes soon, or the process is lost.
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
