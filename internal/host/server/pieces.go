package server

import "github.com/psbench/psbench/comm"

// runPieces is run where gradients come in pieces: one after the other, each as it is there
// from everybody, while the trainers copy the next. It works alone, since it is they who have to
// keep up.
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

// runPiece does all there is to do with elements from to to.
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
