package checked

import (
	"os"
	"sync"
	"sync/atomic"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/host/record"
)

// KeptBytes is the maximum memory, in bytes, for a process's slices in one pass.
const KeptBytes = 16 << 20

// Keeper keeps slices of the operations on a process's links. Keeper samples iterations whose
// number is a multiple of its stride, which starts at 1. When the memory is full, the stride
// doubles, and Keeper forgets the iterations between.
//
// The kept iterations therefore spread over the whole pass and are the same on all ranks. If a
// single iteration needs more than the memory, Keeper keeps a part of that iteration and no other.
//
// Keeper allocates its memory in advance, and nothing during a pass.
type Keeper struct {
	seed    uint64
	spentNS atomic.Int64
	counted atomic.Int64 // operations seen
	stride  atomic.Int64 // changed with mu held

	mu    sync.Mutex
	links []*link
	slots []slot
	free  []*slot
	full  bool // one iteration alone fills the memory
}

// slot has room for one exchange. The slot is also the comm.Ender of that exchange's operation.
type slot struct {
	record.Exchange
	keeper *Keeper
	place  Place
	bucket *tensor.Bucket
	before comm.Ender // the future's previous Ender, notified first
	state  state
}

// state is the state of a slot.
type state int

const (
	unused state = iota
	pending
	forgotten // dropped while the operation was pending
	kept
)

// NewKeeper makes the keeper of a process and allocates all its memory.
func NewKeeper(seed uint64) *Keeper {
	memory := make([]byte, KeptBytes)
	for i := 0; i < len(memory); i += os.Getpagesize() {
		memory[i] = 0 // the kernel allocates the page now, before the pass
	}
	k := &Keeper{seed: seed, slots: make([]slot, KeptBytes/(2*SliceBytes))}
	k.free = make([]*slot, 0, len(k.slots))
	for i := range k.slots {
		k.slots[i].keeper = k
		for _, s := range []*record.Slice{&k.slots[i].Sent, &k.slots[i].Got} {
			s.Values, memory = tensor.ViewFloat32(memory[:SliceBytes]), memory[SliceBytes:]
		}
	}
	k.Reset()
	return k
}

// Reset forgets everything, because a new pass begins.
func (k *Keeper) Reset() {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.stride.Store(1)
	k.full, k.free = false, k.free[:0]
	k.spentNS.Store(0)
	k.counted.Store(0)
	for _, l := range k.links {
		clear(l.started)
	}
	for i := range k.slots {
		k.slots[i].state = unused
		k.free = append(k.free, &k.slots[i])
	}
}

// passesOver reports whether the Keeper skips this batch and its remaining operations.
func (k *Keeper) passesOver(batch int64) bool { return batch&(k.stride.Load()-1) != 0 }

// take returns a slot for an exchange of a batch, or nil if the exchange is not kept.
func (k *Keeper) take(batch int64) *slot {
	k.mu.Lock()
	defer k.mu.Unlock()
	for !k.full && !k.passesOver(batch) {
		if n := len(k.free); n > 0 {
			s := k.free[n-1]
			k.free, s.state = k.free[:n-1], pending
			s.Batch = batch
			return s
		}
		k.thin()
	}
	return nil
}

// thin doubles the stride and releases the slots of skipped batches.
func (k *Keeper) thin() {
	k.stride.Store(2 * k.stride.Load())
	some := false
	for i := range k.slots {
		s := &k.slots[i]
		if !k.passesOver(s.Batch) {
			continue
		}
		some = true
		switch s.state {
		case kept:
			k.release(s)
		case pending:
			s.state = forgotten
		}
	}
	k.full = !some
}

func (k *Keeper) release(s *slot) {
	s.state = unused
	k.free = append(k.free, s) // free has room for all slots
}

// settle ends the work on a slot. If whole is set, the slot keeps a complete exchange.
func (s *slot) settle(whole bool) {
	s.keeper.mu.Lock()
	defer s.keeper.mu.Unlock()
	if whole && s.state == pending {
		s.state = kept
	} else {
		s.keeper.release(s)
	}
}

// begin records the gradient that is about to be given to a link. begin returns nil if the
// operation is not kept.
func (l *link) begin(o record.Operation, batch int64, b *tensor.Bucket, root int) *slot {
	k := l.keeper
	k.counted.Add(1)
	number, ok := l.number(batch, b.Index)
	if !ok || k.passesOver(batch) {
		return nil
	}
	start := comm.Now()
	defer k.spend(start)
	if b.Elements == 0 {
		return nil
	}
	s := k.take(batch)
	if s == nil {
		return nil
	}
	s.Link, s.Operation, s.Bucket, s.Number, s.Root = l.name, o, b.Index, number, root
	s.Edges, s.before = true, nil
	s.bucket, s.place = b, PlaceOf(k.seed, batch, &l.specs[b.Index], o, l.members, true)
	s.room()
	if !s.place.cut(&s.Sent, &b.Gradient) {
		s.settle(false)
		return nil
	}
	return s
}

// room divides the memory of both halves of a slot as its place requires.
func (s *slot) room() {
	for _, half := range []*record.Slice{&s.Sent, &s.Got} {
		memory := tensor.Float32Bytes(half.Values[:elements])
		rows := s.place.room()
		half.Rows = tensor.ViewOf[int32](memory[4*min(rows, elements-s.place.Rows):], s.place.Rows)
	}
}

// Follows implements comm.Follower. A hook may return a link's future as its own, and both may be
// kept.
func (s *slot) Follows(before comm.Ender) { s.before = before }

// Ended implements comm.Ender: it records the result of the operation.
func (s *slot) Ended() {
	if s.before != nil {
		s.before.Ended()
	}
	start := comm.Now()
	s.settle(s.place.cut(&s.Got, &s.bucket.Gradient))
	s.keeper.spend(start)
}

func (k *Keeper) spend(startNS int64) { k.spentNS.Add(comm.Now() - startNS) }

// Collect sends the kept exchanges, once no operation is pending.
func (k *Keeper) Collect(send record.Send) error {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := range k.slots {
		if k.slots[i].state == kept {
			if err := send(&k.slots[i].Exchange); err != nil {
				return err
			}
		}
	}
	return send(&record.Checked{SpentNS: k.spentNS.Load(), Operations: k.counted.Load()})
}
