package bare

import (
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
)

// In each round, every trainer gets the values that the first trainer pushed in
// that round. The first trainer may push again before the others have their
// answers.
func TestPortAnswersFromTheFirst(t *testing.T) {
	const trainers, rounds, elements = 3, 200, 1024
	p := &port{arrived: map[[2]int]int{}}
	var ends []net.Conn
	for range trainers {
		near, far := connected(t)
		p.trainers = append(p.trainers, &trainer{far, comm.NewStore([]tensor.BucketSpec{{Elements: elements}})})
		ends = append(ends, near)
	}
	served := make(chan error, 1)
	go func() { served <- p.Serve(nil) }()

	var pushing sync.WaitGroup
	for i, nc := range ends {
		pushing.Go(func() {
			var number [64]byte // of bucket 0
			for round := range rounds {
				values := slices.Repeat([]float32{float32(round + 1000*i)}, elements)
				if _, err := (&net.Buffers{number[:], tensor.Float32Bytes(values)}).WriteTo(nc); err != nil {
					t.Error(err)
					return
				}
				if _, err := io.ReadFull(nc, tensor.Float32Bytes(values)); err != nil {
					t.Error(err)
					return
				}
				if want := float32(round); values[0] != want || values[elements-1] != want {
					t.Errorf("trainer %d, round %d: %v to %v", i, round, values[0], values[elements-1])
					return
				}
			}
		})
	}
	pushing.Wait()
	for _, nc := range ends {
		_ = nc.Close()
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func connected(t *testing.T) (near, far net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if near, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if far, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	for _, nc := range []net.Conn{near, far} {
		if err := nc.SetDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _, _ = near.Close(), far.Close() })
	return near, far
}
