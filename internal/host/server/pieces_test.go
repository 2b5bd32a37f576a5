package server

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
)

// parcel is a gradient that arrives in pieces.
type parcel struct {
	values []float32
	broken error
	given  int // elements fetched so far
	piece  int // index of the next piece
}

func (p *parcel) Fetch() ([]float32, error) {
	from, to := comm.PieceOf(len(p.values), p.piece)
	return p.values[from:to], p.broken
}

func (p *parcel) Give(src []float32) error {
	from, to := comm.PieceOf(len(p.values), p.piece)
	p.given += copy(p.values[from:to], src)
	p.piece++
	return p.broken
}

// untouchable returns placeholder values for a gradient that arrives in pieces. None of these
// values may reach an answer.
func untouchable(n int) []float32 {
	values := make([]float32, n)
	for i := range values {
		values[i] = float32(math.NaN())
	}
	return values
}

// The answer has the same bits, whether gradients arrive whole or in pieces.
func TestPieceReductionHasTheSameBits(t *testing.T) {
	for _, timing := range timings {
		t.Run(fmt.Sprint(timing), func(t *testing.T) {
			var reductions []*reduction
			for trainers := 1; trainers <= 5; trainers++ {
				reductions = append(reductions, newReduction(t, timing, mean(trainers), trainers))
			}
			rapid.Check(t, func(t *rapid.T) {
				trainers := rapid.IntRange(1, len(reductions)).Draw(t, "trainers")
				r := reductions[trainers-1]
				n := rapid.SampledFrom([]int{1, comm.BlockElements + 1, comm.PieceElements - 1, comm.PieceElements,
					splitElements, 5*comm.PieceElements + 7}).Draw(t, "elements")
				c := &r.newChunks(denseOf(n), trainers)[0]
				order := rapid.Permutation(positions(trainers)).Draw(t, "order")
				var want []float32
				for batch := range 3 {
					got := make([][]float32, trainers)
					var parcels []*parcel
					for _, trainer := range order {
						values := make([]float32, n)
						for i := range values {
							values[i] = value(trainer, 0, i)
						}
						got[trainer] = values
						a := arrival(trainer, values, rapid.Bool().Draw(t, "more"))
						if batch > 0 && rapid.Bool().Draw(t, "in pieces") {
							parcels = append(parcels, &parcel{values: values})
							a.Gradient, a.Pieces = &tensor.Gradient{Values: untouchable(n)}, parcels[len(parcels)-1]
						}
						_, last, err := c.add(a)
						if err != nil {
							t.Fatal(err)
						}
						for _, p := range parcels {
							if given := p.given == n; given != last || !last && p.given != 0 {
								t.Fatalf("batch %d: %d of %d elements were given, all have come: %v", batch, p.given,
									n, last)
							}
						}
					}
					if batch == 0 {
						want = slices.Clone(got[0])
					}
					for trainer, values := range got {
						if !slices.Equal(values, want) {
							t.Fatalf("batch %d: trainer %d got other bits", batch, trainer)
						}
					}
				}
			})
		})
	}
}

// If a trainer's pieces do not arrive, the reduction ends with the trainer's error.
func TestPieceReductionFails(t *testing.T) {
	gone := errors.New("the trainer has ended")
	for trainers := 1; trainers <= 2; trainers++ {
		c := &newReduction(t, timings[0], mean(trainers), trainers).newChunks(denseOf(splitElements), trainers)[0]
		for trainer := range trainers {
			a := arrival(trainer, untouchable(splitElements), false)
			a.Pieces = &parcel{values: make([]float32, splitElements), broken: gone}
			if _, last, err := c.add(a); last && !errors.Is(err, gone) || !last && err != nil {
				t.Errorf("arrival %d of %d gave %v", trainer, trainers, err)
			}
		}
	}
}

func TestPieceReductionDoesNotAllocate(t *testing.T) {
	r := newReduction(t, timings[0], mean(2), 2)
	c := &r.newChunks(denseOf(splitElements), 2)[0]
	var arrivals []*comm.Arrival
	var parcels []*parcel
	for trainer := range 2 {
		a, p := arrival(trainer, untouchable(splitElements), false), &parcel{values: make([]float32, splitElements)}
		a.Pieces = p
		arrivals, parcels = append(arrivals, a), append(parcels, p)
	}
	allocs := testing.AllocsPerRun(50, func() {
		for i, a := range arrivals {
			parcels[i].piece = 0
			if _, _, err := c.add(a); err != nil {
				t.Error(err)
			}
		}
	})
	if allocs != 0 {
		t.Errorf("a round allocates %g times, want 0", allocs)
	}
}
