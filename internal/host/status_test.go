package host

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/status"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/internal/host/convert"
	"github.com/psbench/psbench/internal/host/fault"
	"github.com/psbench/psbench/sdk/proto"
)

func TestFailuresCross(t *testing.T) {
	wait := &comm.WaitError{Waiter: "trainer0", For: []string{"trainer1", "trainer2"}, What: "a part", Seconds: 1}
	peer := &comm.PeerError{Waiter: "trainer0", Peer: "server2", What: "a push", Err: io.EOF}
	for _, c := range []struct {
		err   error
		cause proto.Failure_Cause
		about []string
	}{
		{fmt.Errorf("epoch 0: %w", wait), proto.Failure_CAUSE_WAIT, wait.For},
		{fmt.Errorf("epoch 0: %w", peer), proto.Failure_CAUSE_PEER, []string{"server2"}},
		{fmt.Errorf("epoch 0: %w", &fault.Part{Text: "trainer0.hook sent step", Process: "trainer0.hook"}),
			proto.Failure_CAUSE_UNSPECIFIED, []string{"trainer0.hook"}},
		{errors.New("bad luck"), proto.Failure_CAUSE_UNSPECIFIED, nil},
	} {
		t.Run(fmt.Sprint(c.cause), func(t *testing.T) {
			got := convert.FailureToProto(fault.Describe(c.err))
			if got.GetCause() != c.cause || got.GetMessage() != c.err.Error() || !cmp.Equal(got.GetAbout(), c.about) {
				t.Errorf("%v became %v", c.err, got)
			}
			s, _ := status.FromError(asStatus(c.err))
			if d := s.Details(); len(d) != 1 || d[0].(*proto.Failure).GetCause() != c.cause {
				t.Errorf("the status of %v has details %v", c.err, d)
			}
		})
	}
	if asStatus(nil) != nil {
		t.Error("no error became one")
	}
}
