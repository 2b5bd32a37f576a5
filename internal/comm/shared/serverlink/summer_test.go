package serverlink

import (
	"errors"
	"time"

	"github.com/psbench/psbench/comm"
)

// summer is a test server. summer answers all trainers with the sum of a push:
// piece by piece if a push comes in pieces, otherwise whole.
type summer struct {
	trainers int
	arrivals map[int][]*comm.Arrival // by bucket
	pause    time.Duration           // wait before each piece
}

func (s *summer) handle(a *comm.Arrival) error {
	all := append(s.arrivals[a.Bucket], a)
	if s.arrivals[a.Bucket] = all; len(all) < s.trainers {
		return nil
	}
	s.arrivals[a.Bucket] = nil
	if a.Gradient.Sparse() {
		return errors.New("no sum of rows")
	}
	parts := make([][]float32, s.trainers)
	for k := range comm.PieceCount(len(a.Gradient.Values)) {
		time.Sleep(s.pause)
		from, to := comm.PieceOf(len(a.Gradient.Values), k)
		if err := s.sum(all, parts, from, to); err != nil {
			return err
		}
	}
	for _, a := range all {
		if err := a.Answer(a.Gradient); err != nil {
			return err
		}
	}
	return nil
}

// sum adds up the elements in [from, to).
func (s *summer) sum(all []*comm.Arrival, parts [][]float32, from, to int) (err error) {
	total := make([]float32, to-from)
	for t, a := range all {
		if a.Pieces == nil {
			parts[t] = a.Gradient.Values[from:to]
		} else if parts[t], err = a.Pieces.Fetch(); err != nil {
			return err
		}
		for i, v := range parts[t] {
			total[i] += v
		}
	}
	for t, a := range all {
		if copy(parts[t], total); a.Pieces != nil {
			if err := a.Pieces.Give(total); err != nil {
				return err
			}
		}
	}
	return nil
}

func newSummer(trainers int) *summer {
	return &summer{trainers: trainers, arrivals: map[int][]*comm.Arrival{}}
}

// quick answers with the pushed values.
func quick(a *comm.Arrival) error { return errors.Join(giveBack(a), a.Answer(a.Gradient)) }

// giveBack gives all pieces unchanged.
func giveBack(a *comm.Arrival) error {
	for n := comm.PieceCount(len(a.Gradient.Values)); a.Pieces != nil && n > 0; n-- {
		piece, err := a.Pieces.Fetch()
		if err == nil {
			err = a.Pieces.Give(piece)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
