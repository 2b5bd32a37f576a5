package cluster

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/psbench/psbench/sdk/proto"
)

// lost is a process whose host is lost while the process closes its parts.
type lost struct {
	fake
	gone chan struct{}
}

func (l *lost) Exited() <-chan struct{} { return l.gone }
func (l *lost) Death(string) error      { return &LostError{errors.New("node2 is gone")} }

func (l *lost) Close(context.Context, *proto.CloseRequest, ...grpc.CallOption) (*proto.CloseReply, error) {
	close(l.gone)
	return nil, status.Error(codes.Canceled, "grpc: the client connection is closing")
}

// If a process is lost while its parts close, the run reports this, unless the run has already failed.
func TestLostWhileClosing(t *testing.T) {
	for i, c := range []struct {
		failure error
		want    string
	}{
		{nil, "node2 is gone"},
		{errors.New("trainer0 failed"), "trainer0 failed"},
	} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			cluster := New(time.Second, []*Member{{Name: "trainer1", Process: &lost{gone: make(chan struct{})}}},
				Options{})
			if _, err := cluster.closeParts(c.failure); err == nil || err.Error() != c.want {
				t.Errorf("after %v it says %v, want %s", c.failure, err, c.want)
			}
		})
	}
}
