package grpc

import "github.com/psbench/psbench/internal/comm/wire"

// Network has ports as TCP, with frames in a call over gRPC.
var Network = wire.TCP.Over("grpc", dial, accept)
