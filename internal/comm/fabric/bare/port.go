package bare

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/wire"
)

// port answers all trainers once it has the same 1 MiB chunk from all of them.
type port struct {
	trainers []*trainer

	mu      sync.Mutex
	arrived map[[2]int]int // number of trainers whose chunk of a bucket has arrived

	// answering is held while a chunk is written. All answers are written from
	// the first trainer's memory, and the first trainer may push again before
	// the others have their answers. The first trainer's next push would
	// overwrite that memory, so the push waits for this lock.
	answering sync.Mutex
}

type trainer struct {
	nc    net.Conn
	store *comm.Store
}

// NewPort implements provider.Provider.
func (p sockets) NewPort(links wire.Links, specs []tensor.BucketSpec, _ bool) (comm.Port, error) {
	port := &port{arrived: map[[2]int]int{}}
	for _, conn := range links.Conns {
		store, err := p.NewStore(links.Self, specs)
		if err != nil {
			return nil, err
		}
		port.trainers = append(port.trainers, &trainer{bareOf(conn), store})
	}
	return port, nil
}

// Stores implements comm.Port.
func (p *port) Stores(trainer int) []*comm.Store { return []*comm.Store{p.trainers[trainer].store} }

// Serve implements comm.Port. Serve never calls its handler.
func (p *port) Serve(func(*comm.Arrival) error) error {
	errs := make([]error, len(p.trainers))
	var readers sync.WaitGroup
	for i, t := range p.trainers {
		readers.Go(func() { errs[i] = p.read(t) })
	}
	readers.Wait()
	return errors.Join(errs...)
}

// read reads pushes until the trainer hangs up.
func (p *port) read(t *trainer) error {
	var number [64]byte
	for {
		if _, err := io.ReadFull(t.nc, number[:]); errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) {
			return nil
		} else if err != nil {
			return err
		}
		bucket := int(binary.LittleEndian.Uint64(number[:])) // #nosec G115 -- looked up
		values, err := bucketOf(t.store, bucket)
		if err != nil {
			return err
		}
		p.answering.Lock()
		p.answering.Unlock() //nolint:staticcheck // what was answered before has left
		for k := range comm.Chunks(len(values)) {
			if _, err := io.ReadFull(t.nc, chunk(values, k)); err != nil {
				return err
			}
			if err := p.came(bucket, k); err != nil {
				return err
			}
		}
	}
}

func bucketOf(s *comm.Store, index int) ([]float32, error) {
	for _, b := range s.Buckets {
		if b.Index == index {
			return b.Gradient.Values, nil
		}
	}
	return nil, fmt.Errorf("a trainer pushed unknown bucket %d", index)
}

func chunk(values []float32, k int) []byte {
	first := k * comm.ChunkElements
	return tensor.Float32Bytes(values[first:min(first+comm.ChunkElements, len(values))])
}

// came records that a trainer's chunk has arrived. After the last trainer's
// chunk, it sends the first trainer's chunk to all.
func (p *port) came(bucket, k int) error {
	key := [2]int{bucket, k}
	p.mu.Lock()
	p.arrived[key]++
	last := p.arrived[key] == len(p.trainers)
	if last {
		p.arrived[key] = 0
	}
	p.mu.Unlock()
	if !last {
		return nil
	}
	values, err := bucketOf(p.trainers[0].store, bucket)
	p.answering.Lock()
	defer p.answering.Unlock()
	for _, t := range p.trainers {
		if err == nil {
			_, err = t.nc.Write(chunk(values, k))
		}
	}
	return err
}

// Close implements comm.Port.
func (p *port) Close() error {
	var errs []error
	for _, t := range p.trainers {
		errs = append(errs, closed(t.nc.Close()))
	}
	return errors.Join(errs...)
}
