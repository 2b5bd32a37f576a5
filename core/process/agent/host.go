package agent

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/psbench/psbench/core/host/placement"
	"github.com/psbench/psbench/core/process/agent/proto"
	"github.com/psbench/psbench/internal/host"
	"github.com/psbench/psbench/internal/identity"
	"github.com/psbench/psbench/internal/quote"
)

// Host is the core's connection to the agent on a host.
type Host struct {
	placement.Host
	CPUs   int
	Listen string // IP address on which the host's processes listen

	address  string
	identity *identity.Identity
	timeout  time.Duration
	conn     *grpc.ClientConn
	agent    proto.AgentClient
	stop     context.CancelFunc
	beating  sync.WaitGroup

	life context.Context // ends when the agent is lost; the cause is the reason
	die  context.CancelCauseFunc
}

// Dial connects the core, which runs on host core, to the agent of host name. The address is an IP and a port. Once
// connected, the core sends heartbeats and the agent answers them. An agent that is silent for three quarters of the
// timeout counts as lost.
func Dial(ctx context.Context, core, name, address string, id *identity.Identity,
	timeout time.Duration) (*Host, error) {
	h := &Host{address: address, identity: id, timeout: timeout}
	h.life, h.die = context.WithCancelCause(context.Background())
	h.Name = name
	var dialed sync.Once
	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDisableServiceConfig(),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			err := errors.New("its connection has ended") // the agent ends its processes when the connection ends
			var conn net.Conn
			dialed.Do(func() { conn, err = h.dial(ctx, callsProtocol) })
			return conn, err
		}))
	if err != nil {
		return nil, err
	}
	h.conn, h.agent = conn, proto.NewAgentClient(conn)
	if err := h.describe(ctx, core); err != nil {
		_ = conn.Close()
		return nil, err
	}
	ctx, h.stop = context.WithCancel(context.WithoutCancel(ctx))
	h.beating.Go(func() { h.beat(ctx) })
	return h, nil
}

// dial connects to the agent and selects one of the protocols.
func (h *Host) dial(ctx context.Context, protocol string) (net.Conn, error) {
	return dialAs(ctx, h.identity, h.address, protocol)
}

// dialAs connects to the agent at an address and authenticates with an identity.
func dialAs(ctx context.Context, id *identity.Identity, address, protocol string) (net.Conn, error) {
	config := id.Client()
	config.NextProtos = []string{protocol}
	d := tls.Dialer{Config: config}
	return d.DialContext(ctx, "tcp", address)
}

func (h *Host) describe(ctx context.Context, core string) error {
	ctx, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	reply, err := h.agent.Describe(ctx, &proto.DescribeRequest{Core: core})
	if err != nil {
		return h.explain("does not say what its host is", err)
	}
	name := h.Name
	if err := json.Unmarshal(reply.GetHost(), &h.Host); err != nil {
		return h.explain("does not say what its host is", err)
	}
	h.Name, h.CPUs, h.Listen = name, int(reply.GetCpus()), reply.GetListen()
	return nil
}

// explain turns an agent's error into a sentence for the user.
func (h *Host) explain(what string, err error) error {
	if s, ok := status.FromError(err); ok {
		switch {
		case s.Code() == codes.DeadlineExceeded:
			return fmt.Errorf("the agent on %s %s within %.0f s", h.Name, what, h.timeout.Seconds())
		case s.Code() == codes.Unavailable && h.stop != nil: // the agent was connected before
			return fmt.Errorf("the agent on %s is gone", h.Name)
		}
		err = errors.New(quote.Message(unwrapped(s.Message())))
	}
	return fmt.Errorf("the agent on %s %s: %w", h.Name, what, err)
}

// unwrapped strips the prefix and suffix that gRPC adds to the message of a connection error.
func unwrapped(message string) string {
	inner, of := strings.CutPrefix(message, `connection error: desc = "transport: `)
	if !of {
		return message
	}
	return strings.TrimSuffix(strings.TrimPrefix(inner, "Error while dialing: "), `"`)
}

// beat sends heartbeats until the agent is lost or Leave is called. beat detects a lost agent before calls to the
// agent's processes time out, so that psbench reports the loss and not the timeouts.
func (h *Host) beat(ctx context.Context) {
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	for {
		err := h.sign(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			h.die(err)
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// sign asks the agent for a heartbeat. The error of sign says how the agent was lost.
func (h *Host) sign(ctx context.Context) error {
	patience := h.timeout * 3 / 4
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, err := h.agent.Beat(ctx, &proto.BeatRequest{})
	switch {
	case err == nil:
		return nil
	case status.Code(err) == codes.DeadlineExceeded:
		return fmt.Errorf("the agent on %s has sent no heartbeat for %.1f s", h.Name, patience.Seconds())
	}
	return fmt.Errorf("the agent on %s is gone", h.Name)
}

// Lose marks the agent as lost for a reason that the caller observed outside the connection.
func (h *Host) Lose(why error) { h.die(fmt.Errorf("the agent on %s is gone: %w", h.Name, why)) }

// lost returns why the agent is lost, or nil if it is not.
func (h *Host) lost() error { return context.Cause(h.life) }

// Leave notifies the agent that the core is done, and whether the core failed.
func (h *Host) Leave(failed bool) error {
	h.stop()
	h.beating.Wait()
	defer func() { _ = h.conn.Close() }()
	if h.lost() != nil {
		return nil // the loss was already reported
	}
	ctx, cancel := context.WithTimeout(context.Background(), h.timeout)
	defer cancel()
	if _, err := h.agent.Leave(ctx, &proto.LeaveRequest{Failed: failed}); err != nil {
		return h.explain("does not end", err)
	}
	return nil
}

// alive returns a context that ends with ctx or when the agent is lost, whichever comes first.
func (h *Host) alive(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(h.life, func() { cancel(h.lost()) })
	return ctx, func() { stop(); cancel(nil) }
}

// reach returns a client of a process on the host. The client connects through a tunnel.
func (h *Host) reach(name string) (*grpc.ClientConn, error) {
	return grpc.NewClient("passthrough:///"+name, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDisableServiceConfig(),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(host.MaxMessageBytes),
			grpc.MaxCallSendMsgSize(host.MaxMessageBytes)),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			conn, err := h.dial(ctx, tunnelProtocol)
			if err != nil {
				return nil, err
			}
			if _, err := fmt.Fprintln(conn, name); err != nil {
				_ = conn.Close()
				return nil, err
			}
			return conn, nil
		}))
}
