// Package harness carries out points of contracts. The package does so on ranks of a world within this process,
// with psbench's own host and a real fabric, or on a rank of a real run.
package harness

// Point is one requirement on a part.
type Point struct {
	Name    string
	Promise string // the requirement, as a sentence
	// Ranks is the number of ranks that carry out the point. Passes is how often they do so, with a reset before each
	// pass.
	Ranks, Passes int
	// Worlds are numbers of ranks. The point is carried out once for each of them; if empty, for Ranks alone.
	Worlds []int
	// Large adds the large buckets of toys.Sizes.
	Large bool
	// Sparse: the point is only about sparse gradients. Agreement: the point requires that all ranks agree.
	Sparse, Agreement bool
	// Floats: the point is about criteria whose targets are numbers.
	Floats bool
	// Samples is the size of the largest batch that a model or criterion gets; 0: MaxBatch.
	Samples int
	// Unseen explains why a run cannot check the point; "" if a run can.
	Unseen string

	// OnRank is the work of each rank in each pass, on the parts that the rank got; nil: none.
	OnRank func(r *Rank) error
	// Alone replaces OnRank in a test. Alone builds the part itself and can check more.
	Alone func(s *Subject) error
	// Guarded places tensors between inaccessible pages in a test.
	Guarded bool
}

// InRun reports whether a trainer of a real run can carry out the point.
func (p Point) InRun() bool { return p.OnRank != nil && p.Unseen == "" }

// NotSeen is the error of a point that cannot be checked on this part. NotSeen gives the reason.
type NotSeen string

func (e NotSeen) Error() string { return string(e) }

// Sizes returns the numbers of ranks that carry out the point, one world after the other.
func (p Point) Sizes() []int {
	if p.Worlds != nil {
		return p.Worlds
	}
	return []int{max(1, p.Ranks)}
}

// Check carries out the point on s in this process. The error describes a violation by the part, or is NotSeen.
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
		err = panicked // the panic explains the other error
	}
	return err
}

// Carry carries out one pass of the point on a rank.
func (p Point) Carry(r *Rank) error { return Recovered(func() error { return p.OnRank(r) }) }
