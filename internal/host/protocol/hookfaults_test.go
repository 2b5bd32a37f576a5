package protocol

import (
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/wire"
	"github.com/psbench/psbench/internal/host/fault"
	"github.com/psbench/psbench/internal/host/protocol/protocoltest"
	"github.com/psbench/psbench/sdk"
)

// If a part breaks the protocol, its reductions end with one sentence that names the part.
func TestHookRefusesLies(t *testing.T) {
	send := func(frames ...wire.Header) func(p *protocoltest.Part, f wire.Header) error {
		return func(p *protocoltest.Part, f wire.Header) error {
			for _, ask := range frames {
				if ask.Batch == 0 {
					ask.Batch = f.Batch
				}
				if err := p.Send(ask); err != nil {
					return err
				}
			}
			return nil
		}
	}
	for name, c := range map[string]struct {
		does func(p *protocoltest.Part, f wire.Header) error
		err  error // error of the operation
		want string
	}{
		"a bucket too far": {does: send(wire.Header{Op: opAverage, Bucket: 2}),
			want: "trainer0.part sent average of batch 4, bucket 2, but the run has buckets 0 to 1"},
		"a bucket below 0": {does: send(wire.Header{Op: opAverage, Bucket: -1}),
			want: "trainer0.part sent average of batch 4, bucket -1, but the run has buckets 0 to 1"},
		"another batch": {does: send(wire.Header{Op: opAverage, Batch: 5}),
			want: "trainer0.part sent average of batch 5, bucket 0 while batch 4 is being reduced"},
		"a bucket it has not": {does: send(wire.Header{Op: opReduced, Bucket: 1}),
			want: "trainer0.part sent reduced of batch 4, bucket 1, which was not requested"},
		"twice": {does: send(wire.Header{Op: opReduceScatter}, wire.Header{Op: opAverage}),
			want: "trainer0.part sent average of batch 4, bucket 0 while reduce-scatter of batch 4, bucket 0 is under way"},
		"rows of a dense bucket": {does: send(wire.Header{Op: opAverage, Rows: 1}),
			want: "trainer0.part sent average of batch 4, bucket 0 with 1 rows, but the bucket is dense"},
		"a link it has not": {does: send(wire.Header{Op: opAverage, Flags: flagDefaultGroup}),
			want: "trainer0.part sent average of batch 4, bucket 0, but its hook has no such link: it must declare that"},
		"a server it has not": {does: send(wire.Header{Op: opPushPull}),
			want: "trainer0.part sent push-pull of batch 4, bucket 0, but its hook has no link to a server: it must declare that"},
		"a call": {does: send(wire.Header{Op: opReduce}),
			want: "trainer0.part sent reduce of batch 4, bucket 0, which was not requested"},
		"an answer to no ping": {does: send(wire.Header{Op: opPing}),
			want: "trainer0.part sent ping, which was not requested"},
		"a gradient": {does: send(wire.Header{Op: opGradient}),
			want: "trainer0.part sent gradient, which was not requested"},
		"an unknown operation": {does: send(wire.Header{Op: 0xee}),
			want: "trainer0.part sent operation 0xee, which was not requested"},
		"a tensor of its own": {does: send(wire.Header{Op: opTensor, Flags: uint8(roleOutput)}),
			want: "trainer0.part announced tensor 0 of role 10, which it does not have"},
		"no memory": {does: send(wire.Header{Op: opMemory}),
			want: "trainer0.part asked for a segment of 0 bytes: it can have 1 to 68719476736"},
		"too much memory": {does: send(wire.Header{Op: opMemory, Arg: wire.MaxPayload}),
			want: "trainer0.part asked for memory: a segment of 64 GiB for trainer0.part memory does not fit: "},
		"a frame once more": {does: func(p *protocoltest.Part, f wire.Header) error {
			return p.Forge(wire.Header{Op: opReduced, Batch: f.Batch})
		}, want: "trainer0.part sent a frame of another link to trainer0"},
		"a frame left out": {does: func(p *protocoltest.Part, f wire.Header) error {
			p.Skip()
			return p.Send(f)
		}, want: "where frame 201 is due: a frame was lost, repeated or reordered"},
		"failed": {does: func(p *protocoltest.Part, _ wire.Header) error {
			return p.Send(wire.Header{Op: opFailed}, []byte("ValueError: no\x1bsuch row")...)
		}, want: `trainer0.part: ValueError: no\x1bsuch row`},
		"failed, silently": {does: send(wire.Header{Op: opFailed}),
			want: "trainer0.part: it failed without giving a reason"},
		"hangs up": {does: func(*protocoltest.Part, wire.Header) error { return io.EOF },
			want: "trainer0 lost its link to trainer0.part during the answer to reduce of batch 4, bucket 0: EOF"},
		"a failed operation": {does: send(wire.Header{Op: opAverage}), err: errors.New("it is full"),
			want: "trainer0.part, average: it is full"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			h, store := hookOf(t, newHost(t, folder, "trainer0", "unix", late), folder, bucketsOf(8),
				func(p *protocoltest.Part, f wire.Header) error {
					if f.Op == opEnded {
						return nil
					}
					return c.does(p, f)
				})
			group := &links{err: c.err}
			if name == "twice" { // the operation of this part never ends
				h.Join(sdk.Links{Group: &endless{group, comm.NewPromise(nil)}})
			} else {
				h.Join(sdk.Links{Group: group})
			}
			err := h.Reduce(at(4), store.Buckets[0]).Wait()
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("it ended with %v, want %q", err, c.want)
			}
			if about := fault.Describe(err).About; !slices.Equal(about, []string{"trainer0.part"}) {
				t.Errorf("it is about %q, want the part", about)
			}
		})
	}
}

// If an operation fails, the reductions of all buckets end: those that wait for their turn, and
// those that come later. Only the waiter reports the part to the core, and only once.
func TestHookWhoseOperationFails(t *testing.T) {
	folder := t.TempDir()
	host := newHost(t, folder, "trainer0", "unix", late)
	h, store := hookOf(t, host, folder, bucketsOf(8, 8), func(p *protocoltest.Part, f wire.Header) error {
		return p.Send(wire.Header{Op: opBroadcast, Batch: f.Batch, Bucket: f.Bucket, Arg: 5})
	})
	h.Join(sdk.Links{Group: &links{err: errors.New("there is no position 5")}})
	const want = "trainer0.part, broadcast: there is no position 5"
	ends := []*comm.Future{h.Reduce(at(4), store.Buckets[0]), h.Reduce(at(4), store.Buckets[1])}
	for i, end := range ends {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			err := end.Wait()
			if about := fault.Describe(err).About; err == nil || err.Error() != want ||
				!slices.Equal(about, []string{"trainer0.part"}) {
				t.Errorf("bucket %d ended with %v about %q, want %q", i, err, about, want)
			}
		})
	}
	if err := h.Reduce(at(5), store.Buckets[1]).Wait(); err == nil || err.Error() != want {
		t.Errorf("the next one ended with %v, want %q", err, want)
	}
	<-h.link.read
	select {
	case err := <-host.Events.Failures:
		t.Errorf("the core was told %v as well", err)
	default:
	}
}

// endless is a group whose reduce-scatter runs until the test ends it.
type endless struct {
	*links
	promise *comm.Promise
}

func (e *endless) ReduceScatter(int64, *tensor.Bucket) *comm.Future {
	e.promise.Begin()
	time.AfterFunc(soon, func() { e.promise.Complete(nil) })
	return e.promise.Future()
}

// If a part sends too many rows for a bucket, or invalid rows, the error blames the part.
func TestHookRefusesRows(t *testing.T) {
	for name, c := range map[string]struct {
		rows  int32
		first int32
		want  string
	}{
		"too many": {7, 0,
			"trainer0.part sent reduced of batch 4, bucket 1: bucket 1: a sparse gradient of 7 rows does not fit a capacity of 6 rows"},
		"below 0": {-1, 0, "does not fit a capacity of 6 rows"},
		"no row":  {1, 100, "trainer0.part sent reduced of batch 4, bucket 1: bucket 1 has row 100 at place 0"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			h, store := hookOf(t, newHost(t, folder, "trainer0", "unix", late), folder, bucketsOf(8),
				func(p *protocoltest.Part, f wire.Header) error {
					tensor.ViewOf[int32](p.Of(uint8(roleBucketRows), 1), 1)[0] = c.first
					f.Op, f.Rows = opReduced, c.rows
					return p.Send(f)
				})
			h.Join(sdk.Links{})
			err := h.Reduce(at(4), store.Buckets[1]).Wait()
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("it ended with %v, want %q", err, c.want)
			}
		})
	}
}

// A part that does not answer within the timeout is named in the error. A part that owes no answer
// may take longer.
func TestHookThatHangs(t *testing.T) {
	folder := t.TempDir()
	h, store := hookOf(t, newHost(t, folder, "trainer0", "unix", time.Second), folder, bucketsOf(8),
		func(p *protocoltest.Part, f wire.Header) error {
			if f.Batch == 5 {
				return nil
			}
			f.Op = opReduced
			return p.Send(f)
		})
	h.Join(sdk.Links{})
	if err := h.Reduce(at(4), store.Buckets[0]).Wait(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second + soon)
	err := h.Reduce(at(5), store.Buckets[0]).Wait()
	const want = "trainer0 waited 1 s for the answer to reduce of batch 5, bucket 0 from trainer0.part"
	if err == nil || err.Error() != want {
		t.Errorf("it ended with %v, want %q", err, want)
	}
	if err := h.Reduce(at(6), store.Buckets[0]).Wait(); err == nil || err.Error() != want {
		t.Errorf("the next one ended with %v, want %q", err, want)
	}
}
