package tensor

import "fmt"

// BucketSpec is what every rank of a run knows of a bucket: a run of gradients
// that is reduced together.
type BucketSpec struct {
	// Index counts buckets in the order in which backward completes them.
	Index int `json:"index"`
	// Parameters lists the parameters whose gradients lie in the bucket, in
	// the order of their offsets.
	Parameters []Span `json:"parameters"`
	// Elements of a dense bucket; TableRows*Width for a sparse one.
	Elements int `json:"elements"`
	// Type is the type of the elements; sparse buckets hold Float32.
	Type Type `json:"type,omitempty"`
	// Sparse says that the bucket is one embedding table whose gradient
	// travels as rows. TableRows, Width and Capacity are set only then.
	Sparse    bool `json:"sparse"`
	TableRows int  `json:"table_rows"`
	Width     int  `json:"width"`
	// Capacity is the largest number of rows that a reduced gradient of this
	// bucket can have in this run.
	Capacity int `json:"capacity"`
}

// Span is the place of one parameter's gradient in a dense bucket, in elements.
type Span struct {
	Parameter int `json:"parameter"`
	Offset    int `json:"offset"`
	Elements  int `json:"elements"`
}

// Bucket is a BucketSpec with the gradient in place. The trainer owns it; while
// an operation on it is in flight, only that operation touches Gradient.
type Bucket struct {
	BucketSpec
	Gradient Gradient

	// Shown are the rows of a sparse bucket in shared memory, as neighbours read and
	// write them, for ShowRows and TakeRows alone; nil on the heap. Gradient.Rows is memory
	// of this process alone, because rows are places: what was checked must be what is used,
	// whatever a neighbour does meanwhile. It costs two copies of 4 bytes per row for each
	// hand-over.
	Shown []int32
}

// ShowRows copies the rows of the gradient, or of its replacement, to where neighbours that
// map the bucket find them. On the heap it does nothing.
func (b *Bucket) ShowRows(rows []int32) { copy(b.Shown, rows) }

// TakeRows gives the gradient the n rows that a neighbour has shown; their values are in
// place. It copies the rows and checks the copy; n may be any number.
func (b *Bucket) TakeRows(n int) error {
	if err := b.Gradient.SetRows(n); err != nil {
		return fmt.Errorf("bucket %d: %w", b.Index, err)
	}
	copy(b.Gradient.Rows, b.Shown)
	return b.CheckRows(b.Gradient.Rows)
}

// NewBucket allocates the storage that spec asks for: Elements values of a
// dense bucket, Capacity rows of a sparse one (with none in use).
func NewBucket(spec BucketSpec) *Bucket {
	b := &Bucket{BucketSpec: spec}
	b.Gradient = NewGradient(spec)
	return b
}

// BucketIn is a bucket whose values lie in memory that has room for what spec asks for, and whose rows
// neighbours find in shown.
func BucketIn(values []float32, shown []int32, spec BucketSpec) *Bucket {
	b := &Bucket{BucketSpec: spec, Shown: shown, Gradient: Gradient{Values: values}}
	if spec.Sparse {
		b.Gradient = Gradient{Values: values[:0], Rows: make([]int32, 0, spec.Capacity), Width: spec.Width}
	}
	return b
}

// Room is how many values a gradient of the bucket has at most.
func (spec *BucketSpec) Room() int {
	if spec.Sparse {
		return spec.Capacity * spec.Width
	}
	return spec.Words()
}

// Gradient is dense (Width 0: Values holds every element; elements of another type than Float32
// lie in Values as words of 4 bytes, see As) or a coalesced list
// of rows of a table: Rows strictly ascending, Values len(Rows) x Width,
// row-major. The capacities of Rows and Values are fixed at set-up.
type Gradient struct {
	Values []float32
	Rows   []int32
	Width  int
}

// NewGradient allocates a gradient with the capacity of a bucket of spec.
func NewGradient(spec BucketSpec) Gradient {
	if !spec.Sparse {
		return Gradient{Values: aligned(spec.Words())}
	}
	return Gradient{
		Values: make([]float32, 0, spec.Capacity*spec.Width),
		Rows:   make([]int32, 0, spec.Capacity),
		Width:  spec.Width,
	}
}

// Sparse says whether g is a list of rows.
func (g *Gradient) Sparse() bool { return g.Width > 0 }

// SetRows resizes a sparse gradient to n rows within its capacity. The values
// of the rows are whatever the storage held.
func (g *Gradient) SetRows(n int) error {
	if n < 0 || n > cap(g.Rows) || n*g.Width > cap(g.Values) {
		return fmt.Errorf("a sparse gradient of %d rows does not fit a capacity of %d rows", n, cap(g.Rows))
	}
	g.Rows = g.Rows[:n]
	g.Values = g.Values[:n*g.Width]
	return nil
}

// CopyFrom makes g equal to src. Shapes must agree: the same number of values
// when dense, the same width and enough capacity when sparse.
func (g *Gradient) CopyFrom(src *Gradient) error {
	if g.Width != src.Width {
		return fmt.Errorf("a gradient of width %d cannot take one of width %d", g.Width, src.Width)
	}
	if g.Sparse() {
		if err := g.SetRows(len(src.Rows)); err != nil {
			return err
		}
		copy(g.Rows, src.Rows)
	} else if len(g.Values) != len(src.Values) {
		return fmt.Errorf("a gradient of %d elements cannot take one of %d", len(g.Values), len(src.Values))
	}
	copy(g.Values, src.Values)
	return nil
}
