package data

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/internal/host/batches"
	"github.com/psbench/psbench/internal/host/call"
	"github.com/psbench/psbench/internal/host/fault"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/sdk"
)

// stream is the data process's side of streamed data. stream reads batches of equal size one at a
// time, so that its memory does not grow with the data. The last batch may be short.
type stream struct {
	title  string // the data's title, for errors
	data   sdk.StreamedData
	in     sdk.InputSpec
	wanted batches.Wanted
	size   int // samples per batch

	// Results of the first reading.
	samples int
	batches int
	indices int   // indices in the batch with most indices
	width   int   // target width, if targets are numbers; otherwise 0
	counts  []int // batches of each trainer

	pass atomic.Int64 // current pass, from 1; 0 before the first one

	process *process.Process
	sending sync.WaitGroup // counts the goroutines that send batches
	links   []io.Closer    // the links to the trainers
}

// Close implements io.Closer and closes all readers. The caller must close the stream before the
// data.
func (s *stream) Close() error {
	for _, link := range s.links {
		_ = link.Close() // the trainer may have closed the link already
	}
	s.sending.Wait()
	return nil
}

// batchReader reads batches and checks every sample.
type batchReader struct {
	sdk.SampleReader
	batches.Checker
	title string
	batch sdk.Batch
}

func (s *stream) open() (*batchReader, error) {
	if !s.process.Working.TryRLock() {
		return nil, s.process.Over()
	}
	defer s.process.Working.RUnlock()
	reader, err := s.data.Open()
	if err != nil {
		return nil, fault.Of(s.title, "Open", err)
	}
	return &batchReader{SampleReader: reader,
		Checker: batches.Checker{In: s.in, Wanted: s.wanted, Origin: reader.Origin}, title: s.title}, nil
}

// read reads the next n samples, or the remaining ones if there are fewer, into batch. At the end
// of the data, the error is io.EOF itself.
func (r *batchReader) read(n int) error {
	if err := r.Read(&r.batch, n); err != nil {
		return r.explain("Read", err)
	}
	if got := r.batch.Size(); got < 1 || got > n {
		return fmt.Errorf("a read of %d samples gave %d", n, got)
	}
	if err := r.Check(&r.batch); err != nil {
		return err
	}
	r.First += r.batch.Size()
	return nil
}

func (r *batchReader) skip(n int) error {
	if err := r.Skip(n); err != nil {
		return r.explain("Skip", err)
	}
	r.First += n
	return nil
}

// explain adds the part and the sample to an error. io.EOF stays unchanged.
func (r *batchReader) explain(method string, err error) error {
	if err == io.EOF { //nolint:errorlint // as in scan
		return err
	}
	return fault.Of(r.title, fmt.Sprintf("%s at sample %d", method, r.First), err)
}

// scan reads the whole stream once. scan stores in stepNS when it last read a batch.
func (s *stream) scan(stepNS *atomic.Int64) (err error) {
	r, err := s.open()
	if err != nil {
		return err
	}
	defer func() { err = closed(r, err) }()
	for {
		err := r.read(s.size)
		if err == io.EOF { //nolint:errorlint // an error that wraps it is one: of a file that is cut off, perhaps
			break
		}
		if err != nil {
			return err
		}
		if got := s.samples % s.size; got != 0 {
			return fmt.Errorf("a read of %d samples gave %d though there are more", s.size, got)
		}
		if s.batches == 0 {
			s.width = r.batch.TargetWidth
		}
		if err := s.checkWidth(r); err != nil {
			return err
		}
		s.samples = r.First
		s.batches++
		s.indices = max(s.indices, len(r.batch.Indices))
		stepNS.Store(comm.Now())
	}
	if s.samples == 0 {
		return errNoSamples
	}
	return nil
}

// checkWidth reports a batch whose kind of targets differs from the first batch's.
func (s *stream) checkWidth(r *batchReader) error {
	if r.batch.TargetWidth == s.width {
		return nil
	}
	return fmt.Errorf("the samples up to %d have %s as targets, but the first batch has %s; all must have the same",
		r.First-1, targetsOf(r.batch.TargetWidth), targetsOf(s.width))
}

// targetsOf describes in words the targets of a given width.
func targetsOf(width int) string {
	switch width {
	case 0:
		return "classes"
	case 1:
		return "a number"
	}
	return fmt.Sprintf("%d numbers", width)
}

// validateHeldOut checks the held-out samples. Held-out and training samples must have targets of
// the same kind and width.
func (s *stream) validateHeldOut(held *sdk.Samples) error {
	if heldOutSize(held) > 0 && held.HeldOut.TargetWidth != s.width {
		return fmt.Errorf("the held-out samples have %s as targets, but the others %s; all must have the same",
			targetsOf(held.HeldOut.TargetWidth), targetsOf(s.width))
	}
	return validateHeldOut(held, s.in, s.wanted)
}

// partition divides the batches like partitionBatches. As an upper bound, partition counts every
// index of a batch as a distinct row. Counting distinct rows would take as long as reading.
func (s *stream) partition(sets [][]int) (*batches.Partition, error) {
	counts, dropped, err := countShares(s.batches, sets)
	if err != nil {
		return nil, err
	}
	s.counts = counts
	reply := &batches.Partition{Samples: s.samples, Batches: s.batches, Dropped: dropped, Streamed: true}
	for t, n := range counts {
		share := batches.Share{Batches: n, DistinctRows: s.indices, BatchIndices: s.indices, TargetWidth: s.width}
		for k := range n {
			samples := s.samplesOf(s.number(t, k))
			share.Samples += samples
			share.BatchSamples = max(share.BatchSamples, samples)
		}
		reply.Shares = append(reply.Shares, share)
	}
	return reply, nil
}

// number returns the number of trainer t's batch k among all batches.
func (s *stream) number(t, k int) int { return k*len(s.counts) + t }

// samplesOf returns the number of samples in the batch with this number.
func (s *stream) samplesOf(number int) int { return min(s.size, s.samples-number*s.size) }

// send sends trainer t its batches, epoch after epoch, as fast as the trainer takes them. When a
// pass begins, send starts again at the first batch. Batches sent before the first pass belong to
// that pass. If the link ended, the error is a *comm.PeerError.
func (s *stream) send(conn *call.Link, t int) error {
	for {
		if err := s.sendEpoch(conn, t); err != nil {
			return err
		}
	}
}

func (s *stream) sendEpoch(conn *call.Link, t int) (err error) {
	r, err := s.open()
	if err != nil {
		return err
	}
	defer func() { err = closed(r, err) }()
	pass := max(1, s.pass.Load())
	for k := range s.counts[t] {
		if pass < s.pass.Load() {
			return nil
		}
		if err := s.readAgain(r, s.number(t, k)); err != nil {
			return err
		}
		if err := batches.SendStreamed(conn, pass, &r.batch); err != nil {
			return err
		}
	}
	return nil
}

// readAgain reads a batch again. The batch must have the same size as before.
func (s *stream) readAgain(r *batchReader, number int) error {
	if !s.process.Working.TryRLock() {
		return s.process.Over()
	}
	defer s.process.Working.RUnlock()
	if err := r.skip(number*s.size - r.First); err != nil {
		return err
	}
	want, got := s.samplesOf(number), 0
	err := r.read(want)
	switch {
	case err == nil:
		got = r.batch.Size()
	case err != io.EOF: //nolint:errorlint // as in scan
		return err
	}
	if got < want {
		return fmt.Errorf(
			"it changed during the run: it had %d samples when they were counted, but now sample %d is missing",
			s.samples, number*s.size+got)
	}
	if err := s.checkWidth(r); err != nil {
		return fmt.Errorf("it changed during the run: %w", err)
	}
	if n := len(r.batch.Indices); n > s.indices {
		return fmt.Errorf("it changed during the run: samples %d to %d have %d indices, but when they were counted no batch had more than %d",
			number*s.size, r.First-1, n, s.indices)
	}
	return nil
}

// closed closes a reader. closed returns err, or the error of Close if err is nil.
func closed(r *batchReader, err error) error {
	if cerr := r.Close(); err == nil {
		err = fault.Of(r.title, "Close", cerr)
	}
	return err
}
