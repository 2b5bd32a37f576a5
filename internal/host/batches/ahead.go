package batches

import (
	"errors"
	"fmt"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/internal/comm/wire"
	"github.com/psbench/psbench/internal/host/call"
	"github.com/psbench/psbench/sdk"
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
	came, made Memory       // as it came, and what preprocessing made of it, if anything
	read       [1]sdk.Batch // the one that came
	out        *sdk.Batch   // the one to train on
	pass       int64        // that it was sent in
}

// stream is the trainer's side of streamed data: the batches that the data process
// sends, read ahead and preprocessed by the goroutine that serves it.
type stream struct {
	conn    *call.Link
	timeout time.Duration
	length  int // batches of an epoch
	header  wire.Header
	// Each batch is in free, in ready or in used; all have room for as many as there are
	// for them.
	free, ready chan *aheadBatch
	used        []*aheadBatch
	batches     []aheadBatch // all of them
	preprocess  func([]sdk.Batch) ([]sdk.Batch, error)
	pass        int64       // that began last; 0 before the first one
	first       *aheadBatch // of the pass, until it is taken
	err         error       // of serve, once ready is closed
}

func newStream(conn *wire.Conn, length int, timeout time.Duration,
	preprocess func([]sdk.Batch) ([]sdk.Batch, error)) *stream {
	const all = aheadBatches + usedBatches
	s := &stream{
		conn: &call.Link{Conn: conn}, length: length, timeout: timeout, preprocess: preprocess,
		free: make(chan *aheadBatch, all), ready: make(chan *aheadBatch, all),
		used:    make([]*aheadBatch, 0, usedBatches),
		batches: make([]aheadBatch, all),
	}
	for i := range s.batches {
		s.free <- &s.batches[i]
	}
	return s
}

// Len implements sdk.Batches.
func (s *stream) Len() int { return s.length }

// Next implements sdk.Batches. It has no deadline of its own, since each read of serve
// has one.
func (s *stream) Next() (*sdk.Batch, error) {
	if len(s.used) == usedBatches {
		s.giveBack()
	}
	b := s.first
	if s.first = nil; b == nil {
		var ok bool
		if b, ok = <-s.ready; !ok {
			return nil, s.err
		}
	}
	s.used = append(s.used, b)
	return b.out, nil
}

// giveBack has what was used filled again.
func (s *stream) giveBack() {
	for _, b := range s.used {
		s.free <- b
	}
	s.used = s.used[:0]
}

// Rewind implements Batches. The reset of the data process for the pass makes it begin anew. Rewind
// skips batches that it sent before, so that it can send the new ones.
func (s *stream) Rewind() error {
	s.pass++
	s.giveBack()
	if s.first != nil {
		s.free <- s.first
		s.first = nil
	}
	for b := range s.ready {
		if b.pass >= s.pass {
			s.first = b
			return nil
		}
		s.free <- b
	}
	return s.err
}

// serve reads batches until the link ends or done is closed.
func (s *stream) serve(done <-chan struct{}) {
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
func (s *stream) Close() error {
	err := s.conn.Close()
	for range s.ready { // until serve closes it
	}
	for i := range s.batches {
		err = errors.Join(err, s.batches[i].came.Close(), s.batches[i].made.Close())
	}
	return err
}

func (s *stream) read(b *aheadBatch) error {
	if err := s.conn.SetReadDeadline(time.Now().Add(s.timeout)); err != nil {
		return err
	}
	err := call.Expect(s.conn, &s.header, OpBatch)
	if err == nil {
		err = b.came.Read(s.conn, &s.header)
	}
	if err != nil {
		nameBatch(err)
		return err
	}
	b.pass, b.read[0] = s.header.Arg, b.came.Batch
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
