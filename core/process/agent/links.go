package agent

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/psbench/psbench/core/process/agent/proto"
	"github.com/psbench/psbench/core/process/cluster"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/comm/limits"
	"github.com/psbench/psbench/internal/identity"
)

// now reads the host's clock.
func (h *Host) now(ctx context.Context) (int64, error) {
	reply, err := h.agent.Beat(ctx, &proto.BeatRequest{})
	if err != nil {
		return 0, h.explain("does not report its time", err)
	}
	return reply.GetNowNs(), nil
}

// linkConnections is how many connections measure a link in parallel, because one connection may not fill it.
const linkConnections = 4

// bare returns the TCP connection below a TLS connection. TLS must have authenticated both sides. After the ready byte
// neither side uses TLS, so no TLS buffer holds data of the measurement.
func bare(secure net.Conn) (net.Conn, error) {
	conn, ok := secure.(*tls.Conn)
	if !ok {
		return nil, errors.New("it is not a TLS connection")
	}
	return conn.NetConn(), nil
}

const ready = 1

// serveLink is the agent's end of a link measurement that another host runs. The contents of the bytes do not matter.
func serveLink(secure net.Conn) {
	defer func() { _ = secure.Close() }()
	conn, err := bare(secure)
	if err == nil {
		_, err = secure.Write([]byte{ready})
	}
	if err == nil {
		_ = limits.ServeLink(conn) // the measuring side reports failures
	}
}

// measureLink measures the link to the agent at an address. The measurement stops when ctx ends.
func measureLink(ctx context.Context, id *identity.Identity, address string,
	during time.Duration) (l limits.Link, err error) {
	var connections []net.Conn
	end := func() {
		for _, c := range connections {
			_ = c.Close()
		}
	}
	defer func() { end() }() // closes the connections that were opened
	for range linkConnections {
		secure, err := dialAs(ctx, id, address, linkProtocol)
		if err != nil {
			return l, err
		}
		conn, err := bare(secure)
		if err == nil {
			_ = secure.SetReadDeadline(time.Now().Add(strangerLimit))
			_, err = io.ReadFull(secure, make([]byte, 1))
		}
		if err != nil {
			_ = secure.Close()
			return l, err
		}
		connections = append(connections, conn)
	}
	defer context.AfterFunc(ctx, end)()
	return limits.MeasureLink(connections, during)
}

// MeasureLink implements proto.AgentServer.
func (a *agent) MeasureLink(ctx context.Context, req *proto.MeasureLinkRequest) (*proto.MeasureLinkReply, error) {
	l, err := measureLink(ctx, a.options.Identity, req.GetAddress(),
		min(time.Duration(req.GetDuringNs()), a.options.Timeout))
	if err != nil {
		return nil, asStatus(err)
	}
	return &proto.MeasureLinkReply{OutGbps: l.OutGBps, BackGbps: l.BackGBps, RoundTripUs: l.RoundTripUS}, nil
}

// MeasureLinks implements cluster.LinkMeasurer.
func (s *starter) MeasureLinks(ctx context.Context, during time.Duration) (links []result.HostLink, err error) {
	for _, pairs := range cluster.Rounds(len(s.layout.Hosts)) {
		found, errs := make([]result.HostLink, len(pairs)), make(chan error, len(pairs))
		for i, pair := range pairs {
			go func() {
				var err error
				found[i], err = s.measureLink(ctx, pair[0], pair[1], during)
				errs <- err
			}()
		}
		var failed error
		for range pairs {
			failed = errors.Join(failed, <-errs)
		}
		if failed != nil {
			return links, failed
		}
		links = append(links, found...)
	}
	return links, nil
}

// measureLink measures the link between two hosts. The arguments are indices into the layout's hosts.
func (s *starter) measureLink(ctx context.Context, from, to int, during time.Duration) (l result.HostLink, err error) {
	l.From, l.To = s.layout.Hosts[from].Name, s.layout.Hosts[to].Name
	other := s.elsewhere[to].host
	ctx, cancel := context.WithTimeout(ctx, during+other.timeout)
	defer cancel()
	if s.elsewhere[from] == nil {
		if l.Link, err = measureLink(ctx, other.identity, other.address, during); err != nil {
			err = fmt.Errorf("from %s to %s: %w", l.From, l.To, err)
		}
		return l, err
	}
	h := s.elsewhere[from].host
	reply, err := h.agent.MeasureLink(ctx, &proto.MeasureLinkRequest{Address: other.address, DuringNs: int64(during)})
	if err != nil {
		return l, h.explain("cannot measure its link to "+l.To, err)
	}
	l.Link = limits.Link{OutGBps: reply.GetOutGbps(), BackGBps: reply.GetBackGbps(),
		RoundTripUS: reply.GetRoundTripUs()}
	return l, nil
}
