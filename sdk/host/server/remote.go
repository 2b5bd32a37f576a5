package server

// runRemotely is run where gradients are in memory of their trainers alone.
func (b *blockReduction) runRemotely(own *worker, from, to int) {
	for from < to && b.failed.Load() == nil {
		end := min(from+remoteShareElements, to)
		if err := b.remoteBlock(own, from, end); err != nil {
			b.fail(err)
			return
		}
		from = end
	}
}

// fail notes the first error.
func (b *blockReduction) fail(err error) { b.failed.CompareAndSwap(nil, &err) }

// remoteBlock fetches a block of each gradient, takes it through all steps, and gives the
// answer to all.
func (b *blockReduction) remoteBlock(own *worker, from, to int) error {
	sum, err := b.fetch(own, b.owner, from, to)
	if err != nil {
		return err
	}
	rest := own.parts[:len(b.rest)]
	for i, t := range b.rest {
		if rest[i], err = b.fetch(own, t, from, to); err != nil {
			return err
		}
	}
	b.block(own, sum, rest)
	for t, p := range b.parts {
		switch {
		case b.remotes[t] != nil:
			err = b.remotes[t].Give(sum, from)
		case t != b.owner:
			copy(p[from:to], sum)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// fetch is a block of a trainer's gradient, in its place or in memory of own's.
func (b *blockReduction) fetch(own *worker, trainer, from, to int) ([]float32, error) {
	if b.remotes[trainer] == nil {
		return b.parts[trainer][from:to], nil
	}
	block := own.room(trainer, len(b.parts))[:to-from]
	return block, b.remotes[trainer].Fetch(block, from)
}

// room is a worker's for a share of a trainer's gradient, made at its first use.
func (w *worker) room(trainer, trainers int) []float32 {
	if w.fetched == nil {
		w.fetched = make([][]float32, trainers)
	}
	if w.fetched[trainer] == nil {
		w.fetched[trainer] = make([]float32, remoteShareElements)
	}
	return w.fetched[trainer]
}
