package sdk

import (
	"errors"
	"fmt"
	"time"

	"github.com/psbench/psbench/comm"
)

// A batch of a stream is read before it is asked for. Those that were used go back to
// the reader several at once: to wake it costs the iteration more than all else, 13 µs
// where a batch without it costs 1.5 µs.
const (
	aheadBatches = 4 // at most, when the reader is woken
	usedBatches  = 4 // at most, with the one in use
)

// aheadBatch is a batch of a stream.
type aheadBatch struct {
	came, made batchMemory // as it came, and what preprocessing made of it, if anything
	read       [1]Batch    // the one that came
	out        *Batch      // the one to train on
}

// batchStream is the trainer's side of streamed data: the batches that the data process
// sends, read ahead and preprocessed by the goroutine that serves it.
type batchStream struct {
	conn    *callLink
	timeout time.Duration
	length  int // batches of an epoch
	header  comm.Header
	// Each batch is in free, in ready or in used; all have room for as many as there are
	// for them.
	free, ready chan *aheadBatch
	used        []*aheadBatch
	batches     []aheadBatch // all of them
	preprocess  func([]Batch) ([]Batch, error)
	err         error // of serve, once ready is closed
}

func newBatchStream(conn *comm.Conn, length int, timeout time.Duration, preprocess func([]Batch) ([]Batch, error)) *batchStream {
	const all = aheadBatches + usedBatches
	s := &batchStream{
		conn: &callLink{Conn: conn}, length: length, timeout: timeout, preprocess: preprocess,
		free: make(chan *aheadBatch, all), ready: make(chan *aheadBatch, all), used: make([]*aheadBatch, 0, usedBatches),
		batches: make([]aheadBatch, all),
	}
	for i := range s.batches {
		s.free <- &s.batches[i]
	}
	return s
}

// Len implements sdk.Batches.
func (s *batchStream) Len() int { return s.length }

// Next implements sdk.Batches. It has no deadline of its own, since each read of serve
// has one.
func (s *batchStream) Next() (*Batch, error) {
	if len(s.used) == usedBatches {
		for _, b := range s.used {
			s.free <- b
		}
		s.used = s.used[:0]
	}
	b, ok := <-s.ready
	if !ok {
		return nil, s.err
	}
	s.used = append(s.used, b)
	return b.out, nil
}

// serve reads batches until the link ends or done is closed.
func (s *batchStream) serve(done <-chan struct{}) {
	defer close(s.ready)
	for {
		select {
		case b := <-s.free:
			if s.err = s.read(b); s.err != nil {
				return
			}
			s.ready <- b
		case <-done:
			s.err = fmt.Errorf("%s is ending", s.conn.Self())
			return
		}
	}
}

// Close ends the link, waits for serve, and gives the memory of the batches back.
func (s *batchStream) Close() error {
	err := s.conn.Close()
	for range s.ready { // until serve closes it
	}
	for i := range s.batches {
		err = errors.Join(err, s.batches[i].came.Close(), s.batches[i].made.Close())
	}
	return err
}

func (s *batchStream) read(b *aheadBatch) error {
	if err := s.conn.SetReadDeadline(time.Now().Add(s.timeout)); err != nil {
		return err
	}
	err := expect(s.conn, &s.header, opBatch)
	if err == nil {
		err = b.came.read(s.conn, &s.header)
	}
	if err != nil {
		nameBatch(err)
		return err
	}
	b.read[0] = b.came.Batch
	out, err := s.preprocess(b.read[:])
	if err != nil {
		return err
	}
	if b.out = &b.came.Batch; &out[0] != &b.read[0] {
		b.out = &b.made.Batch
		err = b.made.set(&out[0])
	}
	return err
}

// nameBatch says what a wait was for. It is apart because it allocates.
func nameBatch(err error) {
	if wait := (*comm.WaitError)(nil); errors.As(err, &wait) {
		wait.What = "its next batch"
	}
}
