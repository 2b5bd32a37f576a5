package server

import "github.com/psbench/psbench/comm"

// runPieces is like run, for gradients that arrive in pieces. runPieces works on each piece once
// that piece has arrived from all trainers, while the trainers copy the next one. runPieces uses
// only one core and leaves the other cores to the trainers, which must keep up.
func (b *blockReduction) runPieces(own *worker) (spentNS int64, err error) {
	own.meter = meter{}
	for k := range comm.PieceCount(b.elements()) {
		from, to := comm.PieceOf(b.elements(), k)
		if err := b.runPiece(own, from, to); err != nil {
			return 0, err
		}
	}
	return own.meter.spentNS(), nil
}

// runPiece does all work on the elements i with from <= i < to.
func (b *blockReduction) runPiece(own *worker, from, to int) (err error) {
	for t, p := range b.pieces {
		if p == nil {
			own.pieces[t] = b.parts[t][from:to]
		} else if own.pieces[t], err = p.Fetch(); err != nil {
			return err
		}
	}
	b.runBlocks(own, own.pieces, 0, to-from)
	for t, p := range b.pieces {
		if p == nil {
			continue
		}
		if err := p.Give(own.pieces[t]); err != nil {
			return err
		}
	}
	return nil
}
