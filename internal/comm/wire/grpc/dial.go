package grpc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"

	"github.com/psbench/psbench/internal/comm/wire"
)

const (
	service = "psbench.Link"
	method  = "Frames"
	// bufferBytes is the size of one read or write on the socket.
	bufferBytes = 256 << 10
)

var frames = grpc.StreamDesc{StreamName: method, ClientStreams: true, ServerStreams: true}

// bytesCodec is a codec that leaves bytes unchanged.
type bytesCodec struct{}

func (bytesCodec) Name() string { return "bytes" }

// Marshal takes a *mem.BufferSlice with the bytes of the message.
func (bytesCodec) Marshal(v any) (mem.BufferSlice, error) { return *v.(*mem.BufferSlice), nil }

// Unmarshal takes a *mem.Reader, which then holds the message.
func (bytesCodec) Unmarshal(data mem.BufferSlice, v any) error {
	v.(*mem.Reader).Reset(data)
	return nil
}

// dial opens a link's call over socket, which it then owns.
func dial(socket net.Conn, deadline time.Time) (net.Conn, error) {
	watched := watch(socket)
	var once sync.Once
	dial := func(context.Context, string) (nc net.Conn, err error) {
		err = net.ErrClosed // the client must not connect again
		once.Do(func() { nc, err = watched, nil })
		return nc, err
	}
	client, err := grpc.NewClient("passthrough:///"+service,
		grpc.WithContextDialer(dial), grpc.WithNoProxy(),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDisableRetry(), grpc.WithDisableServiceConfig(), grpc.WithIdleTimeout(0),
		grpc.WithInitialWindowSize(windowBytes), grpc.WithInitialConnWindowSize(windowBytes),
		grpc.WithWriteBufferSize(bufferBytes), grpc.WithReadBufferSize(bufferBytes),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(bytesCodec{}), grpc.MaxCallRecvMsgSize(messageBytes)))
	if err != nil {
		_ = socket.Close()
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	end := func() {
		_ = client.Close()
		cancel()
		_ = socket.Close()
	}
	timer := time.AfterFunc(time.Until(deadline), cancel)
	stream, err := client.NewStream(ctx, &frames, "/"+service+"/"+method)
	if err == nil {
		// Until the server has answered, gRPC keeps written data for a retry.
		// Until then, gRPC does not reliably report that it no longer uses the
		// data.
		_, err = stream.Header()
	}
	late := !timer.Stop()
	if late || err != nil {
		end()
		if late {
			return nil, &net.OpError{Op: "dial", Net: "grpc", Err: os.ErrDeadlineExceeded}
		}
		return nil, fmt.Errorf("no gRPC call over %s: %s", socket.RemoteAddr(), status.Convert(err).Message())
	}
	c := newConn(watched, stream)
	c.end = func() {
		_ = stream.CloseSend()
		select { // the server ends the call when it has read everything
		case <-c.ended:
		case <-watched.closed:
		}
		end()
	}
	c.pumps.Go(c.pump)
	return c, nil
}

// accept waits for the call over socket, which it then owns. Each link has its
// own server, so a link can end alone.
func accept(socket net.Conn, deadline time.Time) (net.Conn, error) {
	watched := watch(socket)
	calls := make(chan grpc.ServerStream, 1)
	left := make(chan struct{})
	frames := frames
	frames.Handler = func(_ any, stream grpc.ServerStream) error {
		if err := stream.SendHeader(nil); err != nil {
			return err
		}
		select {
		case calls <- stream:
		default:
			return status.Error(codes.AlreadyExists, "a link is one call")
		}
		<-left
		return nil
	}
	server := grpc.NewServer(
		grpc.ForceServerCodecV2(bytesCodec{}), grpc.MaxRecvMsgSize(messageBytes),
		grpc.InitialWindowSize(windowBytes), grpc.InitialConnWindowSize(windowBytes),
		grpc.WriteBufferSize(bufferBytes), grpc.ReadBufferSize(bufferBytes),
		grpc.MaxConcurrentStreams(1), grpc.ConnectionTimeout(time.Until(deadline)))
	server.RegisterService(&grpc.ServiceDesc{ServiceName: service, HandlerType: (*any)(nil),
		Streams: []grpc.StreamDesc{frames}}, nil)
	if err := server.Serve(&oneConn{conn: watched}); !errors.Is(err, errNoMore) {
		_ = socket.Close()
		return nil, err
	}
	leave := sync.OnceFunc(func() { close(left) })
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	var c *conn
	select {
	case stream := <-calls:
		c = newConn(watched, stream)
	case <-watched.closed:
	case <-timer.C:
		_ = watched.Close()
	}
	if c == nil {
		leave()
		server.Stop()
		return nil, fmt.Errorf("no gRPC call came over the connection from %s", socket.RemoteAddr())
	}
	c.end = func() {
		leave()
		server.GracefulStop()
	}
	c.pumps.Go(func() {
		c.pump()
		leave() // the client has closed its end and waits for this end
	})
	return c, nil
}

// oneConn is a listener that accepts one connection.
type oneConn struct{ conn net.Conn }

var errNoMore = errors.New("there is one connection only")

func (l *oneConn) Accept() (net.Conn, error) {
	if l.conn == nil {
		return nil, errNoMore
	}
	conn := l.conn
	l.conn = nil
	return conn, nil
}

func (l *oneConn) Addr() net.Addr { return &net.TCPAddr{} }
func (l *oneConn) Close() error   { return nil }

// watchedConn reports when it has been closed.
type watchedConn struct {
	net.Conn
	once   sync.Once
	closed chan struct{}
}

func watch(nc net.Conn) *watchedConn { return &watchedConn{Conn: nc, closed: make(chan struct{})} }

func (c *watchedConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// Network listens on TCP ports and carries frames in a gRPC call.
var Network = wire.TCP.Over("grpc", dial, accept)
