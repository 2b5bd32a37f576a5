package server

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/host/hosttest"
	"github.com/psbench/psbench/sdk"
)

// meeting is a server that keeps each push until every trainer has pushed. meeting then answers all
// pushes at once, each on its own goroutine.
type meeting struct {
	trainers int
	mu       sync.Mutex
	arrived  int
	all      chan struct{}
	answers  sync.WaitGroup
	failed   chan error
}

func (m *meeting) Reset() {}
func (m *meeting) Receive(p sdk.Push) error {
	m.answers.Go(func() {
		<-m.all
		m.failed <- p.Answer(p.Gradient)
	})
	m.mu.Lock()
	defer m.mu.Unlock()
	m.arrived++
	if m.arrived == m.trainers {
		close(m.all)
	}
	return nil
}

// A server may keep a push as long as it likes and answer it from any goroutine, over every
// transport.
func TestPushesAreAnsweredFromElsewhere(t *testing.T) {
	for _, transport := range hosttest.Transports {
		m := &meeting{trainers: 3, all: make(chan struct{}), failed: make(chan error, 3)}
		_, links, stores := openServer(t, transport, whole(m), []tensor.BucketSpec{{Elements: 2}}, 3, hosttest.Patience)
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
		for range links {
			hosttest.Must(t, <-m.failed)
		}
		m.answers.Wait() // no answer is still running here
	}
}

// refusing is a server whose Receive fails.
type refusing struct{}

func (refusing) Reset()                   {}
func (refusing) Receive(p sdk.Push) error { return fmt.Errorf("bucket %d is refused", p.Bucket) }

// An error of Receive is reported and closes the links.
func TestReceiveThatFails(t *testing.T) {
	for _, transport := range hosttest.Transports {
		role, links, stores := openServer(t, transport, whole(refusing{}), []tensor.BucketSpec{{Elements: 2}}, 1,
			hosttest.Patience)
		err := links[0].PushPull(0, stores[0].Buckets[0]).Wait()
		var peer *comm.PeerError
		if !errors.As(err, &peer) || peer.Peer != "server9" {
			t.Errorf("%s: the trainer saw %v", transport, err)
		}
		if got := (<-role.Events.Failures).Error(); got !=
			"server9: server tested, Receive of batch 0, bucket 0: bucket 0 is refused" {
			t.Errorf("%s: the server told %q", transport, got)
		}
	}
}

// Averaging pushes of different batches would give meaningless gradients, so the server refuses
// them. Different buckets may be at different batches.
func TestElementwiseServerRefusesAnotherBatch(t *testing.T) {
	specs := []tensor.BucketSpec{{Elements: 2},
		{Index: 1, Elements: 4, Sparse: true, TableRows: 2, Width: 2, Capacity: 2}}
	for _, transport := range hosttest.Transports {
		for _, timing := range timings {
			for wrong := range specs {
				role, links, stores := openServer(t, transport, elementwise(timing, mean(2)), specs, 2,
					hosttest.Patience)
				other := links[0].PushPull(4, stores[0].Buckets[1-wrong])
				first := links[0].PushPull(3, stores[0].Buckets[wrong])
				for b := range specs {
					l := &role.buckets[b]
					hosttest.Await(t, func() bool {
						l.mu.Lock()
						defer l.mu.Unlock()
						return len(l.rounds) > 0
					})
				}
				second := links[1].PushPull(4, stores[1].Buckets[wrong])
				if first.Wait() == nil || second.Wait() == nil || other.Wait() == nil {
					t.Errorf("%s, timing %v: some were answered", transport, timing)
				}
				want :=
					fmt.Sprintf("trainer1 pushed batch 4, bucket %d to server9 while batch 3 is being reduced: trainers must push the same batches in the same order", wrong)
				if got := (<-role.Events.Failures).Error(); got != want {
					t.Errorf("%s, timing %v: the server told %q", transport, timing, got)
				}
			}
		}
	}
}
