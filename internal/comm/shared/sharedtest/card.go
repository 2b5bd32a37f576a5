// Package sharedtest has helpers for tests of shared-memory links: a fake
// device, and rows that a peer changes.
package sharedtest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/commtest"
)

// Card is a fake device. A card's memory is Go memory, and all work on a card
// is done at once. The card's lock replaces the order of marks.
type Card struct {
	Mu     sync.Mutex
	Ends   []*CardEnd
	Given  int
	Refuse string // error of Import
	Apart  error  // error of Join
	// Late delays the first end's sum of rows.
	Late time.Duration
}

// CardEnd implements comm.DeviceEnd. Its offer is its number.
type CardEnd struct {
	Card   *Card
	lent   []*tensor.Bucket
	Total  []float32 // sum of rows
	sums   int       // number of sums of rows
	number int
	Closed bool
}

// Move adds buckets on the device to the store.
func (c *Card) Move(_ int, s *comm.Store) comm.Device {
	for _, b := range s.Buckets {
		s.Lent = append(s.Lent, tensor.BucketIn(make([]float32, b.Room()), b.Shown, b.BucketSpec))
	}
	return c
}

// Join makes an end, or returns Apart.
func (c *Card) Join(_ []tensor.BucketSpec, lent []*tensor.Bucket) (comm.DeviceEnd, error) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	if c.Apart != nil {
		return nil, c.Apart
	}
	e := &CardEnd{Card: c, lent: lent, number: len(c.Ends)}
	c.Ends = append(c.Ends, e)
	return e, nil
}

// Offer returns the number of the end.
func (e *CardEnd) Offer() []byte { return []byte(strconv.Itoa(e.number)) }

// Import returns the buckets of the end with that number.
func (e *CardEnd) Import(_ int, offer []byte) (values [][]float32, err error) {
	e.Card.Mu.Lock()
	defer e.Card.Mu.Unlock()
	if e.Card.Refuse != "" {
		return nil, errors.New(e.Card.Refuse)
	}
	n, err := strconv.Atoi(string(offer))
	if err != nil {
		return nil, err
	}
	for _, b := range e.Card.Ends[n].lent {
		values = append(values, b.Gradient.Values[:cap(b.Gradient.Values)])
	}
	return values, nil
}

// Give counts the buckets that are handed over.
func (e *CardEnd) Give(int) error {
	e.Card.Mu.Lock()
	defer e.Card.Mu.Unlock()
	e.Card.Given++
	return nil
}

// Sum replaces all parts by their sum or mean.
func (e *CardEnd) Sum(_ int, parts [][]float32, mean bool) error {
	e.Card.Mu.Lock()
	defer e.Card.Mu.Unlock()
	for i := range parts[0] {
		sum := float32(0)
		for _, p := range parts {
			sum += p[i]
		}
		if mean {
			sum /= float32(len(parts))
		}
		for _, p := range parts {
			p[i] = sum
		}
	}
	return nil
}

// SumRows stores the sum of all rows in Total.
func (e *CardEnd) SumRows(_ int, gradients []*tensor.Gradient, union []int32, mean bool) error {
	if e.number == 0 {
		time.Sleep(e.Card.Late)
	}
	e.Card.Mu.Lock()
	defer e.Card.Mu.Unlock()
	e.sums++
	e.Total = make([]float32, len(union)*gradients[0].Width)
	for _, g := range gradients {
		for i, row := range g.Rows {
			at := slices.Index(union, row) * g.Width
			for k, v := range g.Values[i*g.Width:][:g.Width] {
				e.Total[at+k] += v
			}
		}
	}
	for i := range e.Total {
		if mean {
			e.Total[i] /= float32(len(gradients))
		}
	}
	return nil
}

// TakeRows copies Total to sum. TakeRows fails if another end has not computed
// its sum yet.
func (e *CardEnd) TakeRows(_ int, sum []float32) error {
	e.Card.Mu.Lock()
	defer e.Card.Mu.Unlock()
	for _, other := range e.Card.Ends {
		if other.sums < e.sums {
			return fmt.Errorf("end %d takes rows that end %d has not summed", e.number, other.number)
		}
	}
	copy(sum, e.Total)
	return nil
}

// Close records the call.
func (e *CardEnd) Close() error {
	e.Closed = true
	return nil
}

// CardElsewhere makes a Card whose end 0 already offers buckets. An offer from
// an end of another Card then seems to be valid on it.
func CardElsewhere() *Card {
	c := &Card{}
	c.Ends = []*CardEnd{{Card: c, lent: comm.NewStore(LentSpecs).Buckets}}
	return c
}

// LentSpecs has a bucket that a group sums from copies, a bucket that it sums
// in slices, and a table.
var LentSpecs = []tensor.BucketSpec{
	commtest.DenseSpec(0, 7), commtest.DenseSpec(1, 5000), commtest.SparseSpec(2, 40, 3, 40),
}

// Draw fills a bucket with values that depend on the rank.
func (c *Card) Draw(b *tensor.Bucket, rank int) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	if b.Sparse {
		_ = b.Gradient.SetRows(2)
		b.Gradient.Rows[0], b.Gradient.Rows[1] = 1, int32(5+rank) // #nosec G115 -- few
	}
	for i := range b.Gradient.Values {
		b.Gradient.Values[i] = float32(i + rank)
	}
}

// RequireMean requires the mean over ranks 0 to 2 of Draw.
func (c *Card) RequireMean(t *testing.T, what string, b *tensor.Bucket) {
	t.Helper()
	c.Mu.Lock()
	defer c.Mu.Unlock()
	want := []float32{1, 2, 3, 4, 5, 6, 7}
	if b.Sparse { // row 1 is in all gradients; rows 5, 6 and 7 are in one each
		want = []float32{1, 2, 3, 1, 4. / 3, 5. / 3, 4. / 3, 5. / 3, 2, 5. / 3, 2, 7. / 3}
		if !slices.Equal(b.Gradient.Rows, []int32{1, 5, 6, 7}) {
			t.Fatalf("%s, bucket %d has rows %v", what, b.Index, b.Gradient.Rows)
		}
	}
	for i, w := range want {
		if d := b.Gradient.Values[i] - w; d > 1e-6 || d < -1e-6 {
			t.Fatalf("%s, bucket %d has values %v, want %v", what, b.Index, b.Gradient.Values[:len(want)], want)
		}
	}
}
