package hosttest

import (
	"errors"
	"io"
	"sync/atomic"
	"testing"

	"github.com/psbench/psbench/sdk"
)

// Tape is streamed data backed by samples in memory. Tests can make its calls fail.
type Tape struct {
	All, Loaded *sdk.Samples
	Left        atomic.Int64 // number of samples, from the first, that can be read
	opened      atomic.Int64
	closings    atomic.Int64
	// A function here replaces the tape's own call, unless it is nil.
	OnOpen, OnClose, OnSkip func() error
	OnRead                  func(r *TapeReader, b *sdk.Batch, n int) error
}

// NewTape returns a tape that makes no errors.
func NewTape(all *sdk.Samples) *Tape {
	d := &Tape{All: all}
	d.Left.Store(int64(all.Size()))
	return d
}

// Load implements sdk.StreamedData.
func (d *Tape) Load() (*sdk.Samples, error) { return d.Loaded, nil }

// Open implements sdk.StreamedData.
func (d *Tape) Open() (sdk.SampleReader, error) {
	if d.OnOpen != nil {
		if err := d.OnOpen(); err != nil {
			return nil, err
		}
	}
	d.opened.Add(1)
	return &TapeReader{Tape: d}, nil
}

// Returned checks that all readers were closed.
func (d *Tape) Returned(t *testing.T) {
	t.Helper()
	if opened, closed := d.opened.Load(), d.closings.Load(); opened != closed || opened == 0 {
		t.Errorf("%d readers were opened and %d closed", opened, closed)
	}
}

// TapeReader reads the samples of a tape.
type TapeReader struct {
	*Tape
	last, At int
}

func (r *TapeReader) Read(b *sdk.Batch, n int) error {
	if r.OnRead != nil {
		return r.OnRead(r, b, n)
	}
	return r.Take(b, n)
}

// Take reads n samples correctly.
func (r *TapeReader) Take(b *sdk.Batch, n int) error {
	end := min(r.At+n, int(r.Left.Load()))
	if r.At >= end {
		return io.EOF
	}
	numbers, targets := len(r.All.Features)/r.All.Size(), len(r.All.Targets)/r.All.Size()
	b.Indices, b.Offsets = b.Indices[:0], b.Offsets[:0]
	b.Features = append(b.Features[:0], r.All.Features[r.At*numbers:end*numbers]...)
	b.Targets = b.Targets[:0]
	width := r.All.TargetWidth
	b.FloatTargets, b.TargetWidth = append(b.FloatTargets[:0], r.All.FloatTargets[r.At*width:end*width]...), width
	for i := r.At; i < end; i++ {
		own := r.All.Targets[i*targets : (i+1)*targets]
		if len(r.All.Offsets) == 0 {
			b.Targets = append(b.Targets, own...)
			continue
		}
		b.Append(r.All.Bag(i), own...)
	}
	r.last, r.At = r.At, end
	return nil
}

// Skip implements sdk.SampleReader.
func (r *TapeReader) Skip(n int) error {
	r.At += n
	if r.OnSkip != nil {
		return r.OnSkip()
	}
	return nil
}

// Origin implements sdk.SampleReader.
func (r *TapeReader) Origin(sample, position int) string {
	if r.All.Origin == nil {
		return "a tape"
	}
	return r.All.Origin(r.last+sample, position)
}

// Close implements sdk.SampleReader.
func (r *TapeReader) Close() error {
	r.closings.Add(1)
	if r.OnClose != nil {
		return r.OnClose()
	}
	return nil
}

// ErrTape is the error of a broken tape.
var ErrTape = errors.New("the tape is torn")
