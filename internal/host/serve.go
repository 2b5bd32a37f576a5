// Package host runs the process of a part: the handshake, the core's calls, and the role that the
// process takes. Only this package uses gRPC messages; the packages below it have types of their
// own.
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

// Handshake holds the values that core and plugin must agree on first. The cookie only shows a
// plugin that psbench started it; the cookie is no secret.
var Handshake = plugin.HandshakeConfig{
	ProtocolVersion:  uint(Contract.number()), // #nosec G115 -- not negative
	MagicCookieKey:   "PSBENCH_PLUGIN",
	MagicCookieValue: "parameter-server-benchmark",
}

// DirectoryVariable names the environment variable that holds the run's socket folder. All
// processes of a run have this variable.
const DirectoryVariable = "PSBENCH_PLUGIN_DIR"

// CUDADeviceVariable names the environment variable that assigns a device to a process of
// psbench-cuda. The variable's value is the ordinal among the devices that the driver shows.
const CUDADeviceVariable = "PSBENCH_CUDA_DEVICE"

// CUDAProductVariable names the environment variable that chooses the implementation of matrix
// products on CUDA devices: cublas or kernels.
const CUDAProductVariable = "PSBENCH_CUDA_GEMM"

// Dispensed is the name under which a plugin serves its parts.
const Dispensed = "part"

// Serve is the main function of a plugin: it serves the parts until the core
// asks it to end.
func Serve(parts ...sdk.Part) { ServeOn(nil, parts...) }

// ServeOn is like Serve for parts that compute on an engine. The function open opens the engine. If
// open is nil, parts compute in ordinary memory.
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

// callForPart and streamForPart mark the goroutine of a call from the core as a part's goroutine.
// Goroutines that psbench itself starts are recognised by their code. Link goroutines carry their
// own mark.
func callForPart(ctx context.Context, req any, call *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	markCall(call.FullMethod)
	return handle(ctx, req)
}

func streamForPart(srv any, messages grpc.ServerStream, call *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	markCall(call.FullMethod)
	return handle(srv, messages)
}

func markCall(method string) {
	if strings.HasPrefix(method, "/"+proto.Part_ServiceDesc.ServiceName+"/") { // go-plugin also has calls of its own
		stack.ForPart.Set()
	}
}

// MaxMessageBytes is the maximum size of a gRPC message. The default of 4 MiB is too small for
// settings that hold data.
const MaxMessageBytes = math.MaxInt32

// GRPCPlugin connects the Part service to go-plugin, in the core and in the plugin.
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
