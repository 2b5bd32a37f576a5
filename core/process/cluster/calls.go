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

// Process is one that runs, and can be called.
type Process interface {
	proto.PartClient
	// Site is where it runs.
	Site() Site
	// PID is its number on its host.
	PID() int
	// StartTook is the time from exec to the end of the handshake.
	StartTook() time.Duration
	// Contract is the version of the contract that it speaks, as in 2.0; "" before its handshake.
	Contract() string
	// Exited is closed when it has ended.
	Exited() <-chan struct{}
	// LastWords are what it last printed, on one line.
	LastWords() string
	// Raised is the exception of Python that it printed last, if that was all, and where that was.
	Raised() (what, where string)
	// Death says, once Exited is closed, how it ended and what it last printed. phase is
	// what the run was doing.
	Death(phase string) error
}

// LostError is the end of a process of which nothing more is known, since its host is lost.
type LostError struct{ Err error }

func (e *LostError) Error() string { return e.Err.Error() }

// Unwrap is for package errors.
func (e *LostError) Unwrap() error { return e.Err }

// Wait is how long a call may take, and what the core waits for meanwhile.
type Wait struct {
	Limit time.Duration // 0: none
	For   string
}

// Unbounded is for calls that may take as long as they like: every wait within one has a
// deadline, and the monitor hears from every process.
var Unbounded = Wait{}

// Each calls do for all members at once and waits for all. Its error is the first one.
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
	if err := c.readClocks(ctx); err != nil { // which all stamps to come are compared with
		return err
	}
	specs := map[*Member]launch.Spec{}
	for _, m := range c.members { // while all are told by where they are to run
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

// Configure has each process become its part. The request says what part that is; who it
// is, where, and in which run is added to it.
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

// Connect has each process join its links.
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

// Reset brings each process to its initial state, in which a pass begins.
func Reset[M member](ctx context.Context, c *Cluster, members []M, pass record.Pass) error {
	return Each(ctx, c, members, Wait{c.timeout, "its reset"}, func(ctx context.Context, m M) error {
		_, err := m.base().Reset(ctx, &proto.ResetRequest{Pass: convert.PassToProto(pass)})
		return err
	})
}

// closeSlack is how much later than its parts' limit a process may answer.
const closeSlack = time.Second

// closeParts has the process close its parts, which together may take as long as limit, until
// ctx ends. What they leave running is noted.
func (m *Member) closeParts(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit+closeSlack)
	defer cancel()
	reply, err := m.Close(ctx, &proto.CloseRequest{LimitNs: int64(limit)})
	m.left = quote.Message(reply.GetLeft())
	switch {
	case err == nil, status.Code(err) == codes.Unimplemented: // by who knows of none
		return nil
	case ctx.Err() != nil:
		return &comm.WaitError{Waiter: "the core", For: []string{m.Name}, What: "the end of its parts",
			Seconds: limit.Seconds()}
	// The process died of its parts, which is reported soon, or it is lost.
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
