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

// The stream's reader reads batches before the trainer asks for them. The trainer returns several
// used batches at a time, because each return wakes the reader. A batch with a wake-up costs the
// iteration 13 µs, a batch without one 1.5 µs.
const (
	aheadBatches = 4 // batches read ahead, at most, when the reader is woken
	usedBatches  = 4 // used batches at most, including the one in use
)

// aheadBatch is one batch of a stream that was read ahead.
type aheadBatch struct {
	came, made Memory       // came: the batch as received; made: the preprocessed batch, if preprocessing changed it
	read       [1]sdk.Batch // the received batch
	out        *sdk.Batch   // the batch to train on
	pass       int64        // the pass in which the data process sent the batch
}

// stream is the trainer's side of streamed data. The goroutine that runs serve reads batches from
// the data process ahead of time and preprocesses them.
type stream struct {
	conn    *call.Link
	timeout time.Duration
	length  int // number of batches in an epoch
	header  wire.Header
	// Each batch is in free, in ready or in used. Each of the three has room for all batches that may
	// be in it at once.
	free, ready chan *aheadBatch
	used        []*aheadBatch
	batches     []aheadBatch // all of them
	preprocess  func([]sdk.Batch) ([]sdk.Batch, error)
	pass        int64       // the latest pass that began; 0 before the first one
	first       *aheadBatch // first batch of the pass, until Next takes it
	err         error       // the error of serve, valid once ready is closed
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

// Next implements sdk.Batches. Next needs no deadline because each read of serve has one.
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

// giveBack returns the used batches to the reader, which fills them again.
func (s *stream) giveBack() {
	for _, b := range s.used {
		s.free <- b
	}
	s.used = s.used[:0]
}

// Rewind implements Batches. The core resets the data process for each pass, so the stream begins
// again. Rewind skips the batches that the data process sent before its reset.
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

// Close ends the link, waits for serve and releases the memory of the batches.
func (s *stream) Close() error {
	err := s.conn.Close()
	for range s.ready { // drain until serve closes the channel
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

// nameBatch records in the error that the trainer waited for a batch. nameBatch is a separate
// function because it allocates.
func nameBatch(err error) {
	if wait := (*comm.WaitError)(nil); errors.As(err, &wait) {
		wait.What = "its next batch"
	}
}
