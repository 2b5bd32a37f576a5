// Package host is the process behind a part: the handshake, the calls of the core, and the
// role that the process takes. Messages end here; the rooms below have types of their own.
package host

import (
	"context"
	"math"
	"os"
	"strings"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/psbench/psbench/internal/stack"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
	"github.com/psbench/psbench/sdk/proto"
)

// Handshake is what the core and a plugin must agree on before they talk. The
// cookie only tells a plugin that it was started by psbench; it is no secret.
var Handshake = plugin.HandshakeConfig{
	ProtocolVersion:  uint(Contract.number()), // #nosec G115 -- not negative
	MagicCookieKey:   "PSBENCH_PLUGIN",
	MagicCookieValue: "parameter-server-benchmark",
}

// DirectoryVariable names the environment variable that holds the run's socket folder,
// in all processes of a run.
const DirectoryVariable = "PSBENCH_PLUGIN_DIR"

// CUDADeviceVariable names the environment variable that tells a process of psbench-cuda which device
// is its own: its ordinal among those that the driver shows.
const CUDADeviceVariable = "PSBENCH_CUDA_DEVICE"

// CUDAProductVariable names the environment variable by which a user says what multiplies matrices on CUDA
// devices: cublas or kernels.
const CUDAProductVariable = "PSBENCH_CUDA_GEMM"

// Dispensed is the name under which a plugin serves its parts.
const Dispensed = "part"

// Serve is the main function of a plugin: it serves the parts until the core
// asks it to end.
func Serve(parts ...sdk.Part) { ServeOn(nil, parts...) }

// ServeOn is Serve for parts that compute on an engine, which open opens; nil: in ordinary
// memory.
func ServeOn(open engine.Opener, parts ...sdk.Part) {
	stack.ForPsbench.Set()
	p := newService(parts)
	p.open = open
	defer p.close()
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: Handshake,
		Plugins:         plugin.PluginSet{Dispensed: &GRPCPlugin{process: p}},
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(opts, grpc.ChainUnaryInterceptor(callForPart),
				grpc.ChainStreamInterceptor(streamForPart), grpc.MaxRecvMsgSize(MaxMessageBytes),
				grpc.MaxSendMsgSize(MaxMessageBytes))...)
		},
		Logger: hclog.New(&hclog.LoggerOptions{Level: hclog.Error, Output: os.Stderr}),
	})
}

// callForPart and streamForPart mark what a call of the core starts as a part's; what psbench itself starts there is
// told by its code, and its links by their own mark.
func callForPart(ctx context.Context, req any, call *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	markCall(call.FullMethod)
	return handle(ctx, req)
}

func streamForPart(srv any, messages grpc.ServerStream, call *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	markCall(call.FullMethod)
	return handle(srv, messages)
}

func markCall(method string) {
	if strings.HasPrefix(method, "/"+proto.Part_ServiceDesc.ServiceName+"/") { // go-plugin has calls of its own
		stack.ForPart.Set()
	}
}

// MaxMessageBytes bounds a gRPC message; the default of 4 MiB is too small for
// settings that hold data.
const MaxMessageBytes = math.MaxInt32

// GRPCPlugin ties the Part service to go-plugin on both sides.
type GRPCPlugin struct {
	plugin.NetRPCUnsupportedPlugin
	process *service
}

// GRPCServer registers the service in the plugin process.
func (p *GRPCPlugin) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	proto.RegisterPartServer(s, p.process)
	return nil
}

// GRPCClient returns a proto.PartClient in the core.
func (p *GRPCPlugin) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, c *grpc.ClientConn) (any, error) {
	return proto.NewPartClient(c), nil
}
