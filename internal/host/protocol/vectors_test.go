package protocol

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/psbench/psbench/internal/comm/wire"
	"github.com/psbench/psbench/internal/golden"
)

// vector is a frame in testdata/frames.json, which tests implementations in all languages. vector
// lists the fields by their names in docs/protocol.md, and the frame's bytes.
type vector struct {
	Name     string  `json:"name"`
	Op       wire.Op `json:"op"`
	Flags    uint8   `json:"flags"`
	Batch    int64   `json:"batch"`
	Bucket   int32   `json:"bucket"`
	Rows     int32   `json:"rows"`
	Arg      int64   `json:"arg"`
	Arg2     int64   `json:"arg2"`
	Payload  uint64  `json:"payload"`
	Sequence uint64  `json:"sequence"`
	Link     uint64  `json:"link"`
	Text     string  `json:"text,omitempty"`   // text in the payload
	Secret   string  `json:"secret,omitempty"` // secret of a hello, in hex
	Purpose  string  `json:"purpose,omitempty"`
	From     string  `json:"from,omitempty"`
	To       string  `json:"to,omitempty"`
	Hex      string  `json:"hex"`
}

// theLink is the link number in all vectors. The acknowledgement announces the link number.
const theLink = 0xfedcba9876543210

func vectorOf(name string, h wire.Header, text string) vector {
	var head [wire.HeaderSize]byte
	h.Payload = uint64(len(text))
	h.Encode(&head)
	return vector{
		Name: name, Op: h.Op, Flags: h.Flags, Batch: h.Batch, Bucket: h.Bucket, Rows: h.Rows, Arg: h.Arg, Arg2: h.Arg2,
		Payload: h.Payload, Sequence: h.Sequence, Link: h.Link, Text: text,
		Hex: hex.EncodeToString(head[:]) + hex.EncodeToString([]byte(text)),
	}
}

// exchange is a frame that either side sends.
type exchange struct {
	name string
	host bool
	h    wire.Header
	text string
}

// exchanges hold at least one frame of each operation, and each of its flags. 0x3ff8000000000000 is
// the bit pattern of 1.5.
var exchanges = []exchange{
	{"segment 0", true, wire.Header{Op: opSegment, Arg: 8192}, ""},
	{"segment 1, to read", true, wire.Header{Op: opSegment, Bucket: 1, Arg: 4096, Flags: flagReadOnly}, ""},
	{"bucket 3 of segment 0", true,
		wire.Header{Op: opTensor, Flags: uint8(roleBucket), Bucket: 3, Arg: 4096, Arg2: 1000}, ""},
	{"ping", true, wire.Header{Op: opPing, Arg: 199}, ""},
	{"the answer to a ping", false, wire.Header{Op: opPing, Arg: 199}, ""},
	{"memory", false, wire.Header{Op: opMemory, Bucket: 7, Arg: 1 << 20}, ""},
	{"segment 2, memory 7", true, wire.Header{Op: opSegment, Bucket: 2, Arg: 1 << 20, Arg2: 7}, ""},
	{"expect, of the trainer at place 1 of 3", true, wire.Header{Op: opExpect, Batch: 5, Bucket: 3, Arg: 1, Arg2: 3},
		""},
	{"what is expected is an average", false, wire.Header{Op: opExpect, Batch: 5, Bucket: 3, Arg: int64(opAverage)},
		""},
	{"output in segment 2", false, wire.Header{Op: opTensor, Flags: uint8(roleOutput), Rows: 2, Arg: 64, Arg2: 640},
		""},
	{"reduce, dense", true, wire.Header{Op: opReduce, Batch: 5, Bucket: 3}, ""},
	{"reduce, sparse", true, wire.Header{Op: opReduce, Batch: 5, Bucket: 4, Rows: 17}, ""},
	{"push-pull", false, wire.Header{Op: opPushPull, Batch: 5, Bucket: 4, Rows: 17}, ""},
	{"all-reduce on the default group", false,
		wire.Header{Op: opAllReduce, Flags: flagDefaultGroup, Batch: 5, Bucket: 3}, ""},
	{"average, the last one", false, wire.Header{Op: opAverage, Flags: flagLast, Batch: 5, Bucket: 3}, ""},
	{"broadcast from position 1", false, wire.Header{Op: opBroadcast, Batch: 5, Bucket: 3, Arg: 1}, ""},
	{"reduce-scatter", false, wire.Header{Op: opReduceScatter, Batch: 5, Bucket: 3}, ""},
	{"all-gather", false, wire.Header{Op: opAllGather, Batch: 5, Bucket: 3}, ""},
	{"all-to-all", false, wire.Header{Op: opAllToAll, Batch: 5, Bucket: 3}, ""},
	{"ended", true, wire.Header{Op: opEnded, Batch: 5, Bucket: 4, Rows: 23, Arg: int64(opPushPull)}, ""},
	{"reduced", false, wire.Header{Op: opReduced, Batch: 5, Bucket: 4, Rows: 23}, ""},
	{"round 1", false, wire.Header{Op: opRound, Batch: 5, Bucket: 3, Arg: 1}, ""},
	{"round 1 ended", true, wire.Header{Op: opEnded, Batch: 5, Bucket: 3, Arg: int64(opRound)}, ""},
	{"payload 2 of segment 1", true,
		wire.Header{Op: opTensor, Flags: uint8(rolePayload), Bucket: 2, Rows: 1, Arg: 4096, Arg2: 12}, ""},
	{"loss", true, wire.Header{Op: opLoss, Rows: 64, Arg: 64, Arg2: 10}, ""},
	{"loss, of numbers", true, wire.Header{Op: opLoss, Bucket: 10, Rows: 640, Arg: 64, Arg2: 10}, ""},
	{"a loss of 1.5", false, wire.Header{Op: opLoss, Arg: 0x3ff8000000000000}, ""},
	{"loss gradient", true, wire.Header{Op: opLossGradient}, ""},
	{"bind", true, wire.Header{Op: opBind}, ""},
	{"initialize", true, wire.Header{Op: opInitialize, Arg: -2}, ""}, // the seed 2^64-2
	{"forward", true, wire.Header{Op: opForward, Batch: 30, Rows: 11, Arg: 640, Arg2: 10}, ""},
	{"forward, with numbers as targets", true,
		wire.Header{Op: opForward, Batch: 30, Bucket: 2, Rows: 11, Arg: 640, Arg2: 20}, ""},
	{"evaluate", true, wire.Header{Op: opEvaluate, Batch: 30, Rows: 11, Arg: 640, Arg2: 10}, ""},
	{"the output of a forward", false, wire.Header{Op: opForward, Arg: 10, Arg2: 4}, ""},
	{"backward", true, wire.Header{Op: opBackward}, ""},
	{"backward input", true, wire.Header{Op: opBackwardInput}, ""},
	{"gradient 2, sparse", false, wire.Header{Op: opGradient, Bucket: 2, Rows: 30}, ""},
	{"step", true, wire.Header{Op: opStep}, ""},
	{"receive", true, wire.Header{Op: opReceive, Batch: 5, Bucket: 3, Rows: 2, Arg: 1, Arg2: 41}, ""},
	{"received", false, wire.Header{Op: opReceived, Bucket: 3, Arg: 1, Arg2: 41}, ""},
	{"answer with own 6", false,
		wire.Header{Op: opAnswer, Flags: uint8(roleOwn), Batch: 6, Bucket: 3, Rows: 2, Arg: 1, Arg2: 41}, ""},
	{"answered", true, wire.Header{Op: opAnswered, Bucket: 3, Arg: 1, Arg2: 41}, ""},
	{"load", true, wire.Header{Op: opLoad}, ""},
	{"loaded, with held-out samples", false, wire.Header{Op: opLoad, Arg: 1}, ""},
	{"loaded, with 2 numbers as the targets of a sample", false, wire.Header{Op: opLoad, Arg2: 2}, ""},
	{"origin", true, wire.Header{Op: opOrigin, Bucket: 1, Arg: 12, Arg2: 3}, ""},
	{"the answer to origin", false, wire.Header{Op: opOrigin, Bucket: 1, Arg: 12, Arg2: 3}, "train.npy, row 12"},
	{"failed", false, wire.Header{Op: opFailed}, "hook topk, reduce: größer"},
}

// TestVectors compares testdata/frames.json with the frames that both sides send. Each side numbers
// its frames.
func TestVectors(t *testing.T) {
	vectors := greetings(t)
	sequence := map[bool]uint64{true: 1, false: 1}
	for _, x := range exchanges {
		x.h.Sequence, x.h.Link = sequence[x.host], ^uint64(theLink)
		if x.host {
			x.h.Link = theLink
		}
		sequence[x.host]++
		vectors = append(vectors, vectorOf(x.name, x.h, x.text))
	}
	text, err := json.MarshalIndent(vectors, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden.Require(t, "testdata/frames.json", string(text)+"\n")
	known := map[wire.Op]bool{}
	for _, v := range vectors {
		known[v.Op] = true
		bytes, err := hex.DecodeString(v.Hex)
		if err != nil {
			t.Fatal(err)
		}
		var h wire.Header
		if err := h.Decode((*[wire.HeaderSize]byte)(bytes)); err != nil ||
			h.Payload != uint64(len(bytes)-wire.HeaderSize) {
			t.Errorf("%s: %v, %d bytes after a header of %+v", v.Name, err, len(bytes)-wire.HeaderSize, h)
		}
	}
	for op, name := range names {
		t.Run(fmt.Sprint(op), func(t *testing.T) {
			if !known[op] {
				t.Errorf("there is no vector of %s", name)
			}
		})
	}
}

// greetings returns the hello as package wire sends it, the acknowledgement and a refusal.
func greetings(t *testing.T) []vector {
	secret := bytes.Repeat([]byte{0xa5}, wire.SecretSize)
	path := t.TempDir() + "/part.sock"
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	number := uint64(theLink)
	ack := wire.Header{Op: wire.OpAck, Arg: int64(number)}
	hello := make(chan []byte, 1)
	go func() {
		defer close(hello)
		nc, err := listener.Accept()
		if err != nil {
			return
		}
		defer func() { _ = nc.Close() }()
		frame := make([]byte, 1024)
		n, _ := nc.Read(frame)
		hello <- frame[:n]
		var head [wire.HeaderSize]byte
		ack.Encode(&head)
		_, _ = nc.Write(head[:])
	}()
	call := wire.Call{From: "trainer0", To: "trainer0.hook", Purpose: "part", Secret: secret, Timeout: 10 * time.Second}
	conn, err := wire.Unix.Dial("unix:"+path, call)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	sent := <-hello
	var h wire.Header
	if err := h.Decode((*[wire.HeaderSize]byte)(sent)); err != nil {
		t.Fatal(err)
	}
	v := vectorOf("hello", h, string(sent[wire.HeaderSize:]))
	v.Text, v.Secret, v.Purpose, v.From, v.To = "", hex.EncodeToString(secret), call.Purpose, call.From, call.To
	return []vector{v, vectorOf("acknowledge", ack, ""),
		vectorOf("refuse", wire.Header{Op: wire.OpRefuse}, "the secret is of another run")}
}
