package comm

import (
	"fmt"
	"math"

	"github.com/psbench/psbench/internal/comm/shm"
)

// Limits of lookups.
const (
	maxTableSide = math.MaxInt32 // rows or columns of a table
	addressable  = 1 << 62       // bytes: a larger size would not fit into an int
)

// bytes is the size of the table's values in bytes, exact up to 2^53.
func (t *TableSpec) bytes() float64 { return 4 * float64(t.Rows) * float64(t.Width) }

// Check reports a size that no table can have.
func (t *TableSpec) Check() error {
	if t.Rows < 1 || t.Width < 1 || t.Rows > maxTableSide || t.Width > maxTableSide {
		return fmt.Errorf("a table cannot have %d rows of %d columns: it has 1 to %d of each", t.Rows, t.Width,
			maxTableSide)
	}
	return nil
}

// bytes is the size of one trainer's memory in bytes: values and gradients,
// offsets and indices. bytes is exact up to 2^53.
func (s *LookupSpec) bytes() float64 {
	columns := 0.0
	for i := range s.Tables {
		columns += float64(s.Tables[i].Width)
	}
	return 2*4*float64(s.Bags)*columns + 8*(float64(s.Bags)+1+float64(s.Indices))
}

// Check reports sizes that no lookup can have, or that do not fit into an int.
func (s *LookupSpec) Check() error {
	for i := range s.Tables {
		if err := s.Tables[i].Check(); err != nil {
			return fmt.Errorf("table %d: %w", i, err)
		}
	}
	if len(s.Tables) == 0 || s.Bags < 1 || s.Indices < 0 {
		return fmt.Errorf(
			"a lookup cannot have %d bags with %d indices in %d tables: it has at least 1 bag, 0 indices and 1 table",
			s.Bags, s.Indices, len(s.Tables))
	}
	if bytes := s.bytes(); bytes >= addressable {
		return fmt.Errorf("a lookup of %d bags with %d indices in %d tables needs %s, more than a process can address",
			s.Bags, s.Indices, len(s.Tables), exbibytes(bytes))
	}
	return nil
}

// CheckTable is Check and also reports a table that the spec does not have.
func (s *LookupSpec) CheckTable(table int) error {
	if table < 0 || table >= len(s.Tables) {
		return fmt.Errorf("there is no table %d among %d", table, len(s.Tables))
	}
	return s.Check()
}

func exbibytes(bytes float64) string { return fmt.Sprintf("%.4g EiB", bytes/math.Exp2(60)) }

// ReserveTables returns an error unless the tables and the trainers' lookups
// fit into the available memory together. owners[i] holds tables[i]; trainers
// is 0 while the number is unknown. If each process only checked its own share,
// every check could pass, and the kernel would kill the last process to touch
// its pages.
func ReserveTables(owners []string, tables []TableSpec, lookups LookupSpec, trainers int) error {
	bytes := float64(trainers) * lookups.bytes()
	for i := range tables {
		if err := tables[i].Check(); err != nil {
			return fmt.Errorf("%s: %w", owners[i], err)
		}
		bytes += tables[i].bytes()
	}
	what := "the tables of " + JoinNames(owners)
	if trainers > 0 {
		what += fmt.Sprintf(" and the lookups of %d trainers", trainers)
	}
	return shm.ReserveTogether(what, bytes)
}

// NewLookupStore allocates the memory of a trainer's lookups on the heap.
// NewLookupStore returns an error if less memory is available.
func NewLookupStore(owner string, spec LookupSpec) (*LookupStore, error) {
	if err := spec.Check(); err != nil {
		return nil, fmt.Errorf("%s: %w", owner, err)
	}
	if err := shm.Reserve(owner+" lookups", int64(spec.bytes())); err != nil {
		return nil, err
	}
	values := spec.Bags * spec.Columns()
	return &LookupStore{
		LookupSpec: spec, Values: make([]float32, values), Gradients: make([]float32, values),
		BagOffsets: make([]int64, 1, spec.Bags+1), BagIndices: make([]int64, 0, spec.Indices), Owner: owner,
	}, nil
}

// Ask sets the bags of the next calls: bag i is
// indices[offsets[i]:offsets[i+1]]. Ask copies both slices. Ask returns an
// error, and changes nothing, if a call is in flight, if the bags or indices
// exceed the spec, or if the offsets are not valid for the indices.
func (s *LookupStore) Ask(offsets, indices []int64) error {
	if n := s.calls.Load(); n != 0 {
		return fmt.Errorf("%s asks for the next bags while %d calls about its last bags are unanswered", s.Owner, n)
	}
	if len(offsets) == 0 || len(offsets)-1 > s.Bags || len(indices) > s.Indices {
		return fmt.Errorf("%s asks for %d bags with %d indices, but has room for %d with %d", s.Owner, len(offsets)-1,
			len(indices), s.Bags, s.Indices)
	}
	if err := CheckOffsets(offsets, len(indices)); err != nil {
		return fmt.Errorf("%s asks for bags whose %w", s.Owner, err)
	}
	s.BagOffsets = append(s.BagOffsets[:0], offsets...)
	s.BagIndices = append(s.BagIndices[:0], indices...)
	s.asked++
	return nil
}

// BagsAsked is the number of bags in the last Ask.
func (s *LookupStore) BagsAsked() int { return len(s.BagOffsets) - 1 }

// Asked counts the calls of Ask. Links compare counts to check that an update
// follows its lookup.
func (s *LookupStore) Asked() int64 { return s.asked }

// Lend records that a link has a call in flight; Ask fails until Return.
func (s *LookupStore) Lend() { s.calls.Add(1) }

// Return records that a link's call has ended.
func (s *LookupStore) Return() { s.calls.Add(-1) }

// CheckOffsets reports an offset that is not valid for this many indices.
func CheckOffsets(offsets []int64, indices int) error {
	last := int64(0)
	for i, at := range offsets {
		if at < last || i == 0 && at != 0 || i == len(offsets)-1 && at != int64(indices) {
			return fmt.Errorf("offset %d is %d; offsets start at 0, do not fall and end at the number of indices, %d",
				i, at, indices)
		}
		last = at
	}
	return nil
}

// Close frees the memory. The caller must close all links first.
func (s *LookupStore) Close() error {
	if s.Segment == nil {
		return nil
	}
	return s.Segment.Close()
}
