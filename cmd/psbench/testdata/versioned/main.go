// Command versioned is a plugin that speaks the version of the contract whose number is
// its argument, and no other.
package main

import (
	"context"
	"os"
	"strconv"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/psbench/psbench/sdk/host"
	"github.com/psbench/psbench/sdk/proto"
)

type empty struct{ plugin.NetRPCUnsupportedPlugin }

func (empty) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	proto.RegisterPartServer(s, proto.UnimplementedPartServer{})
	return nil
}

func (empty) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, nil
}

func main() {
	number, err := strconv.ParseUint(os.Args[1], 10, 32)
	if err != nil {
		panic(err)
	}
	shake := host.Handshake
	shake.ProtocolVersion = uint(number)
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: shake,
		Plugins:         plugin.PluginSet{host.Dispensed: empty{}},
		GRPCServer:      plugin.DefaultGRPCServer,
	})
}
