package sdk

import (
	"errors"
	"io"
	"sync/atomic"
	"testing"
)

// tape is streamed data of samples in memory, which may do wrong.
type tape struct {
	all, loaded *Samples
	left        atomic.Int64 // samples that there are, of all
	opened      atomic.Int64
	closings    atomic.Int64
	// Each of these takes the place of the tape's own call, unless it is nil.
	open, shut, skip func() error
	read             func(r *tapeReader, b *Batch, n int) error
}

func newTape(all *Samples) *tape {
	d := &tape{all: all}
	d.left.Store(int64(all.Size()))
	return d
}

func (d *tape) Load() (*Samples, error) { return d.loaded, nil }

func (d *tape) Open() (SampleReader, error) {
	if d.open != nil {
		if err := d.open(); err != nil {
			return nil, err
		}
	}
	d.opened.Add(1)
	return &tapeReader{tape: d}, nil
}

// returned checks that every reader was closed.
func (d *tape) returned(t *testing.T) {
	t.Helper()
	if opened, closed := d.opened.Load(), d.closings.Load(); opened != closed || opened == 0 {
		t.Errorf("%d readers were opened and %d closed", opened, closed)
	}
}

type tapeReader struct {
	*tape
	last, at int
}

func (r *tapeReader) Read(b *Batch, n int) error {
	if r.read != nil {
		return r.read(r, b, n)
	}
	return r.take(b, n)
}

// take reads as a reader should.
func (r *tapeReader) take(b *Batch, n int) error {
	end := min(r.at+n, int(r.left.Load()))
	if r.at >= end {
		return io.EOF
	}
	numbers, targets := len(r.all.Features)/r.all.Size(), len(r.all.Targets)/r.all.Size()
	b.Indices, b.Offsets = b.Indices[:0], b.Offsets[:0]
	b.Features = append(b.Features[:0], r.all.Features[r.at*numbers:end*numbers]...)
	b.Targets = b.Targets[:0]
	for i := r.at; i < end; i++ {
		own := r.all.Targets[i*targets : (i+1)*targets]
		if len(r.all.Offsets) == 0 {
			b.Targets = append(b.Targets, own...)
			continue
		}
		b.Append(r.all.Bag(i), own...)
	}
	r.last, r.at = r.at, end
	return nil
}

func (r *tapeReader) Skip(n int) error {
	r.at += n
	if r.skip != nil {
		return r.skip()
	}
	return nil
}

func (r *tapeReader) Origin(sample, position int) string {
	if r.all.Origin == nil {
		return "a tape"
	}
	return r.all.Origin(r.last+sample, position)
}

func (r *tapeReader) Close() error {
	r.closings.Add(1)
	if r.shut != nil {
		return r.shut()
	}
	return nil
}

var errTape = errors.New("the tape is torn")
