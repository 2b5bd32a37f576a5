package server

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/host/internal/hosttest"
)

// meeting is a server that has nothing but Receive, which waits until every trainer
// has pushed.
type meeting struct {
	trainers int
	mu       sync.Mutex
	arrived  int
	all      chan struct{}
}

func (m *meeting) Wake() sdk.Wake { return sdk.EachArrival }
func (m *meeting) Reset()         {}
func (m *meeting) Receive(pushes []*sdk.Push) error {
	m.mu.Lock()
	m.arrived++
	if m.arrived == m.trainers {
		close(m.all)
	}
	m.mu.Unlock()
	<-m.all
	return pushes[0].Answer(pushes[0].Gradient)
}

// A server may wait in Receive for other trainers, over every transport.
func TestReceiveMayWaitForAnotherPush(t *testing.T) {
	for _, transport := range hosttest.Transports {
		m := &meeting{trainers: 3, all: make(chan struct{})}
		_, links, stores := openServer(t, transport, m, []tensor.BucketSpec{{Elements: 2}}, 3, hosttest.Patience)
		var futures []*comm.Future
		for i, l := range links {
			stores[i].Buckets[0].Gradient.Values[1] = float32(i)
			futures = append(futures, l.PushPull(0, stores[i].Buckets[0]))
		}
		for i, f := range futures {
			hosttest.Must(t, f.Wait())
			if got := stores[i].Buckets[0].Gradient.Values[1]; got != float32(i) {
				t.Errorf("%s: trainer %d got %v", transport, i, got)
			}
		}
	}
}

// refusing is a server whose Receive fails.
type refusing struct{ wake sdk.Wake }

func (r refusing) Wake() sdk.Wake            { return r.wake }
func (refusing) Reset()                      {}
func (refusing) Receive(p []*sdk.Push) error { return fmt.Errorf("bucket %d is refused", p[0].Bucket) }

// An error of Receive is told and ends the links.
func TestReceiveThatFails(t *testing.T) {
	for _, transport := range hosttest.Transports {
		for _, wake := range []sdk.Wake{sdk.EachArrival, sdk.LastArrival} {
			role, links, stores := openServer(t, transport, refusing{wake}, []tensor.BucketSpec{{Elements: 2}}, 1, hosttest.Patience)
			err := links[0].PushPull(0, stores[0].Buckets[0]).Wait()
			var peer *comm.PeerError
			if !errors.As(err, &peer) || peer.Peer != "server9" {
				t.Errorf("%s, wake %v: the trainer saw %v", transport, wake, err)
			}
			if got := (<-role.Events.Failures).GetFailure().GetMessage(); got != "server9: server tested, Receive of batch 0, bucket 0: bucket 0 is refused" {
				t.Errorf("%s, wake %v: the server told %q", transport, wake, got)
			}
		}
	}
}

// Trainers that push different batches would be averaged into nonsense.
func TestElementwiseServerRefusesAnotherBatch(t *testing.T) {
	for _, transport := range hosttest.Transports {
		for _, wake := range []sdk.Wake{sdk.EachArrival, sdk.LastArrival} {
			server, _ := newMeans(wake, 2)
			role, links, stores := openServer(t, transport, server, []tensor.BucketSpec{{Elements: 2}}, 2, hosttest.Patience)
			first := links[0].PushPull(3, stores[0].Buckets[0])
			for opened := false; !opened; time.Sleep(time.Millisecond) {
				l := &role.locations[0]
				l.mu.Lock()
				opened = len(l.rounds) > 0
				l.mu.Unlock()
			}
			second := links[1].PushPull(4, stores[1].Buckets[0])
			if err := errors.Join(first.Wait(), second.Wait()); err == nil {
				t.Errorf("%s, wake %v: both were answered", transport, wake)
			}
			const want = "trainer1 pushed batch 4, bucket 0 to server9 while batch 3 is being reduced: trainers must push the same batches in the same order"
			if got := (<-role.Events.Failures).GetFailure().GetMessage(); got != want {
				t.Errorf("%s, wake %v: the server told %q", transport, wake, got)
			}
		}
	}
}
