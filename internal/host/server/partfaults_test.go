package server

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/psbench/psbench/internal/comm/wire"
	"github.com/psbench/psbench/internal/host/fault"
	"github.com/psbench/psbench/internal/host/hosttest"
	"github.com/psbench/psbench/internal/host/protocol/protocoltest"
)

// Any invalid answer of a part ends the run with an error that names the part.
func TestPartsThatLie(t *testing.T) {
	answer := func(h wire.Header, change func(*wire.Header)) wire.Header {
		a := wire.Header{Op: protocoltest.Answer, Flags: protocoltest.Push, Batch: int64(pushIndex(h)),
			Bucket: h.Bucket, Rows: h.Rows, Arg: h.Arg, Arg2: h.Arg2}
		change(&a)
		return a
	}
	own := func(index int64) func(*wire.Header) {
		return func(a *wire.Header) { a.Flags, a.Batch = protocoltest.Own, index }
	}
	for want, c := range map[string]struct {
		bucket int
		lie    func(*wire.Header)
	}{
		"answered push 2 of bucket 0 by trainer0, which has pushed it 1 times": {0,
			func(a *wire.Header) { a.Arg2 = 2 }},
		"answered push 0 of bucket 0 by trainer0, which has pushed it 1 times": {0,
			func(a *wire.Header) { a.Arg2 = 0 }},
		"answered push 1 of bucket 1 by trainer0, which has pushed it 0 times": {0,
			func(a *wire.Header) { a.Bucket = 1 }},
		"sent answer of bucket 3 and trainer 0, but has buckets 0 to 2 and trainers 0 to 0": {0,
			func(a *wire.Header) { a.Bucket = 3 }},
		"sent answer of bucket -1 and trainer 0, but has": {0,
			func(a *wire.Header) { a.Bucket = -1 }},
		"sent answer of bucket 0 and trainer 1, but has": {0,
			func(a *wire.Header) { a.Arg = 1 }},
		"sent received of bucket 0 and trainer -7, but has": {0,
			func(a *wire.Header) { a.Op, a.Arg = protocoltest.Received, -7 }},
		"received push 9 of bucket 0 by trainer0, which is not on its way": {0,
			func(a *wire.Header) { a.Op, a.Arg2 = protocoltest.Received, 9 }},
		"answered batch 0, bucket 0 of trainer0 with push memory 3, but the memories are 0 to 2": {0,
			func(a *wire.Header) { a.Batch = 3 }},
		"answered batch 0, bucket 0 of trainer0 with push memory 1, whose push is answered": {0,
			func(a *wire.Header) { a.Batch = 1 }},
		"answered batch 0, bucket 0 of trainer0 with 3 rows, but the bucket is dense": {0,
			func(a *wire.Header) { a.Rows = 3 }},
		"answered batch 0, bucket 2 of trainer0 with 13 rows, but there is room for 12": {2,
			func(a *wire.Header) { a.Rows = 13 }},
		"answered batch 0, bucket 2 of trainer0 with -1 rows": {2,
			func(a *wire.Header) { a.Rows = -1 }},
		"answered batch 0, bucket 0 of trainer0 with tensor 0 of role 4, which is neither a push nor the part's": {0,
			func(a *wire.Header) { a.Flags = 4 }},
		"has announced no tensor 7 of role 15": {0,
			own(7)},
		"with tensor 4294967296 of its own, but the highest number is": {0,
			own(1 << 32)},
		"sent reduced of batch 0, bucket 0, which was not requested": {0,
			func(a *wire.Header) { a.Op = 0x71 }},
		"gave 5 elements of tensor 1 of role 15, which has room for 2": {0,
			own(1)},
		"row 40": {2, func(a *wire.Header) { a.Flags, a.Batch, a.Rows = protocoltest.Own, 2, 1 }},
	} {
		t.Run(want, func(t *testing.T) {
			role, links, stores, _ := openPart(t, "unix", 1, hosttest.Patience, false,
				func(p *protocoltest.Part, h wire.Header) error {
					if err := p.Give(protocoltest.Own, 1, make([]byte, 8)); err != nil {
						return err
					}
					if err := p.Give(protocoltest.Own, 2, make([]byte, 8)); err != nil {
						return err
					}
					if err := p.Give(protocoltest.OwnRows, 2, []byte{40, 0, 0, 0}); err != nil {
						return err
					}
					return p.Send(answer(h, c.lie))
				})
			b := stores[0].Buckets[c.bucket]
			fill(t, b, 0, 0)
			links[0].PushPull(0, b)
			err := fault.Told("server9", hosttest.Failure(t, role.Process))
			if !strings.Contains(err.Error(), want) ||
				!strings.HasPrefix(err.Error(), "server9: ") &&
					!strings.HasPrefix(err.Error(), "server9 cannot answer") {
				t.Errorf("it ended with %v", err)
			}
		})
	}
}

// If a part writes past the end of a push, the error names the part and the push.
func TestPartsThatWritePastTheEnd(t *testing.T) {
	for _, transport := range []string{"shm", "tcp"} {
		t.Run(transport, func(t *testing.T) {
			role, links, stores, _ := openPart(t, transport, 1, hosttest.Patience, false,
				func(p *protocoltest.Part, h wire.Header) error {
					at := p.Of(protocoltest.Push, pushIndex(h))
					at[:len(at)+1][len(at)] = 1
					return p.Send(wire.Header{Op: protocoltest.Answer, Flags: protocoltest.Push,
						Batch:  int64(pushIndex(h)),
						Bucket: h.Bucket, Rows: h.Rows, Arg: h.Arg, Arg2: h.Arg2})
				})
			links[0].PushPull(0, stores[0].Buckets[0])
			want := "wrote past the end of batch 0, bucket 0 of trainer0"
			if err := fault.Told("server9", hosttest.Failure(t, role.Process)); !strings.Contains(err.Error(), want) {
				t.Errorf("it ended with %v, want %q", err, want)
			}
		})
	}
}

// The host of the server notices an answer that comes twice, or before all trainers have pushed.
func TestPartsThatAnswerWrongly(t *testing.T) {
	for want, times := range map[string]int{
		"server9: server tested answered batch 0, bucket 0 of trainer0 twice":                                                                         2,
		"server9: server tested answered batch 0, bucket 0 of trainer0 before trainer1 had pushed it, which a server must declare (sdk.Asynchronous)": 1,
	} {
		t.Run(fmt.Sprintf("%.60s", want), func(t *testing.T) {
			role, links, stores, _ := openPart(t, "shm", 3-times, hosttest.Patience, false,
				func(p *protocoltest.Part, h wire.Header) error {
					for range times {
						if err := p.Send(wire.Header{Op: protocoltest.Answer, Flags: protocoltest.Push,
							Batch: int64(pushIndex(h)), Bucket: h.Bucket, Rows: h.Rows, Arg: h.Arg,
							Arg2: h.Arg2}); err != nil {
							return err
						}
					}
					return nil
				})
			links[0].PushPull(0, stores[0].Buckets[0])
			if err := fault.Told("server9", hosttest.Failure(t, role.Process)); err.Error() != want {
				t.Errorf("it ended with %v\nwant %s", err, want)
			}
		})
	}
}

// An error names a part that takes no pushes, together with the push. An error also names a part
// that dies or reports a failure.
func TestPartsThatFail(t *testing.T) {
	for name, c := range map[string]struct {
		take    func(*protocoltest.Part, wire.Header) error
		timeout time.Duration
		want    string
		cause   fault.Cause
	}{
		"silent": {func(*protocoltest.Part, wire.Header) error { return nil }, time.Second,
			"server9 waited 1 s for the answer to receive of batch 0, bucket 0 from server9.part", fault.Wait},
		"dead": {func(*protocoltest.Part, wire.Header) error { return io.EOF }, hosttest.Patience,
			"server9 lost its link to server9.part during the answer to receive of batch 0, bucket 0: EOF", fault.Peer},
		"failed": {func(p *protocoltest.Part, h wire.Header) error {
			return p.Send(wire.Header{Op: protocoltest.Failed}, []byte("division by\nzero")...)
		}, hosttest.Patience, `server9: server9.part: division by\nzero`, fault.Other},
	} {
		t.Run(name, func(t *testing.T) {
			role, links, stores, _ := openPart(t, "tcp", 1, c.timeout, false, c.take)
			links[0].PushPull(0, stores[0].Buckets[0])
			err := fault.Told("server9", hosttest.Failure(t, role.Process))
			if err.Error() != c.want || fault.Describe(err).Cause != c.cause {
				t.Errorf("%s: it ended with %v\nwant %s", name, err, c.want)
			}
		})
	}
}
