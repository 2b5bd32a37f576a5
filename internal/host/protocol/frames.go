// Package protocol is the host's side of docs/protocol.md: hooks, criteria, models, servers and
// data in a companion that is not psbench's own, which frames call.
package protocol

import (
	"fmt"

	"github.com/psbench/psbench/internal/comm/wire"
)

// Operations of frames, as docs/protocol.md lists them.
const (
	opSegment wire.Op = 0x60 + iota
	opTensor
	opPing
	opFailed
	opMemory
	opExpect
)

// Those of hooks.
const (
	opReduce wire.Op = 0x68 + iota
	opPushPull
	opAllReduce
	opAverage
	opBroadcast
	opReduceScatter
	opAllGather
	opAllToAll
	opEnded
	opReduced
)

// Those of criteria.
const (
	opLoss wire.Op = 0x78 + iota
	opLossGradient
)

// Those of models.
const (
	opBind wire.Op = 0x80 + iota
	opInitialize
	opForward
	opEvaluate
	opBackward
	opBackwardInput
	opGradient
	opStep
)

// Those of servers.
const (
	opReceive wire.Op = 0x90 + iota
	opReceived
	opAnswer
	opAnswered
)

// Those of data.
const (
	opLoad wire.Op = 0x98 + iota
	opOrigin
)

// Flags of frames.
const (
	flagReadOnly     = 1    // of a segment
	flagDefaultGroup = 1    // of a collective
	flagLast         = 0x80 // of an operation, after which its bucket is reduced
)

// maxText is how long the text of a frame may be, in bytes.
const maxText = 1 << 16

var names = map[wire.Op]string{
	opSegment: "segment", opTensor: "tensor", opPing: "ping", opFailed: "failed", opMemory: "memory",
	opExpect: "expect",
	opReduce: "reduce", opPushPull: "push-pull", opAllReduce: "all-reduce", opAverage: "average",
	opBroadcast: "broadcast", opReduceScatter: "reduce-scatter", opAllGather: "all-gather",
	opAllToAll: "all-to-all", opEnded: "ended", opReduced: "reduced",
	opLoss: "loss", opLossGradient: "loss gradient",
	opBind: "bind", opInitialize: "initialize", opForward: "forward", opEvaluate: "evaluate",
	opBackward: "backward", opBackwardInput: "backward input", opGradient: "gradient", opStep: "step",
	opReceive: "receive", opReceived: "received", opAnswer: "answer", opAnswered: "answered",
	opLoad: "load", opOrigin: "origin",
}

// nameOf is what docs/protocol.md calls an operation.
func nameOf(op wire.Op) string {
	if name, ok := names[op]; ok {
		return name
	}
	return fmt.Sprintf("operation %#x", uint8(op))
}

// ofBucket says that frames of an operation are about a batch and a bucket.
func ofBucket(op wire.Op) bool {
	return op == opExpect || op >= opReduce && op <= opReduced || op >= opReceive && op <= opAnswered
}

// describe names a frame in errors.
func describe(h *wire.Header) string {
	if ofBucket(h.Op) {
		return fmt.Sprintf("%s of batch %d, bucket %d", nameOf(h.Op), h.Batch, h.Bucket)
	}
	return nameOf(h.Op)
}
