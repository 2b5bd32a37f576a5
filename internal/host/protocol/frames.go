// Package protocol is the host's side of docs/protocol.md. The host calls hooks, criteria, models,
// servers and data in companions that are not psbench processes, by frames.
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

// Operations of hooks.
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
	opRound
)

// Operations of criteria.
const (
	opLoss wire.Op = 0x78 + iota
	opLossGradient
)

// Operations of models.
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

// Operations of servers.
const (
	opReceive wire.Op = 0x90 + iota
	opReceived
	opAnswer
	opAnswered
)

// Operations of data.
const (
	opLoad wire.Op = 0x98 + iota
	opOrigin
)

// Flags of frames.
const (
	flagReadOnly     = 1    // segment: the part may only read it
	flagDefaultGroup = 1    // collective: use the default group
	flagLast         = 0x80 // operation: the bucket's last one, after which the bucket is reduced
)

// maxText is the maximum length of a frame's text in bytes.
const maxText = 1 << 16

var names = map[wire.Op]string{
	opSegment: "segment", opTensor: "tensor", opPing: "ping", opFailed: "failed", opMemory: "memory",
	opExpect: "expect",
	opReduce: "reduce", opPushPull: "push-pull", opAllReduce: "all-reduce", opAverage: "average",
	opBroadcast: "broadcast", opReduceScatter: "reduce-scatter", opAllGather: "all-gather",
	opAllToAll: "all-to-all", opEnded: "ended", opReduced: "reduced", opRound: "round",
	opLoss: "loss", opLossGradient: "loss gradient",
	opBind: "bind", opInitialize: "initialize", opForward: "forward", opEvaluate: "evaluate",
	opBackward: "backward", opBackwardInput: "backward input", opGradient: "gradient", opStep: "step",
	opReceive: "receive", opReceived: "received", opAnswer: "answer", opAnswered: "answered",
	opLoad: "load", opOrigin: "origin",
}

// nameOf returns the name of an operation in docs/protocol.md.
func nameOf(op wire.Op) string {
	if name, ok := names[op]; ok {
		return name
	}
	return fmt.Sprintf("operation %#x", uint8(op))
}

// ofBucket reports whether frames of this operation name a batch and a bucket.
func ofBucket(op wire.Op) bool {
	return op == opExpect || op >= opReduce && op <= opRound || op >= opReceive && op <= opAnswered
}

// describe names a frame for errors.
func describe(h *wire.Header) string {
	if ofBucket(h.Op) {
		return fmt.Sprintf("%s of batch %d, bucket %d", nameOf(h.Op), h.Batch, h.Bucket)
	}
	return nameOf(h.Op)
}
