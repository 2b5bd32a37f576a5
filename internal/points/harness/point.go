// Package harness carries points of contracts out: on ranks of a world within this process, which
// psbench's own host and a real fabric surround, or on a rank of a real run.
package harness

// Point is one thing that a part must do.
type Point struct {
	Name    string
	Promise string // what the part is to keep, as a sentence
	// Ranks is how many ranks carry the point out, and Passes how often, with a reset before
	// each pass.
	Ranks, Passes int
	// Worlds are the numbers of ranks that carry the point out, one after the other; none: Ranks alone.
	Worlds []int
	// Large adds the large buckets of toys.Sizes.
	Large bool
	// Sparse says that it is about sparse gradients alone, Agreement that about ranks that agree.
	Sparse, Agreement bool
	// Floats says that it is about criteria that take targets which are numbers.
	Floats bool
	// Samples is the size of the largest batch that a model or criterion gets; 0: MaxBatch.
	Samples int
	// Unseen is why a run does not show whether the part keeps the point, "" where one does.
	Unseen string

	// OnRank is what each rank does in each pass, on parts that it was given; nil: nothing.
	OnRank func(r *Rank) error
	// Alone takes the place of OnRank in a test. It builds the part itself, and sees more.
	Alone func(s *Subject) error
	// Guarded puts tensors between inaccessible pages, in a test.
	Guarded bool
}

// InRun says that a trainer of a real run can carry the point out.
func (p Point) InRun() bool { return p.OnRank != nil && p.Unseen == "" }

// NotSeen is the error of a point that cannot be seen on this part: why.
type NotSeen string

func (e NotSeen) Error() string { return string(e) }

// Sizes are the numbers of ranks that carry the point out, one after the other.
func (p Point) Sizes() []int {
	if p.Worlds != nil {
		return p.Worlds
	}
	return []int{max(1, p.Ranks)}
}

// Check carries the point out on s in this process. The error is what is wrong with the part, or
// NotSeen.
func (p Point) Check(s *Subject) (err error) {
	if p.Alone != nil {
		err = Within(s.Patience()+hostGrace, func() error { return p.Alone(s) })
	} else {
		for _, p.Ranks = range p.Sizes() {
			if err = p.inWorld(s); err != nil {
				break
			}
		}
	}
	if panicked := s.panics.take(); panicked != nil {
		err = panicked // which explains the rest
	}
	return err
}

// Carry carries out one pass of the point in a rank.
func (p Point) Carry(r *Rank) error { return Recovered(func() error { return p.OnRank(r) }) }
