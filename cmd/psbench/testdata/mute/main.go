// Command mute is a plugin that shakes hands and then answers no call.
package main

import (
	"context"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/psbench/psbench/sdk/host"
	"github.com/psbench/psbench/sdk/proto"
)

type mute struct{ plugin.NetRPCUnsupportedPlugin }

func (mute) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	proto.RegisterPartServer(s, proto.UnimplementedPartServer{})
	return nil
}

func (mute) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, nil
}

func main() {
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: host.Handshake,
		Plugins:         plugin.PluginSet{host.Dispensed: mute{}},
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(opts, grpc.UnaryInterceptor(never))...)
		},
	})
}

func never(context.Context, any, *grpc.UnaryServerInfo, grpc.UnaryHandler) (any, error) {
	select {}
}
