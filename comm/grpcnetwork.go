package comm

// GRPC has ports as TCP, with frames in a call over gRPC.
var GRPC = TCP.Over("grpc", dialGRPC, acceptGRPC)
