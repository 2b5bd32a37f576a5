package sdk

// Batches are a rank's share of one epoch: the same batches, in the same order, in every
// epoch. They serve one goroutine.
type Batches interface {
	// Len is how many batches an epoch has.
	Len() int
	// Next returns the next batch; after the last one of an epoch comes the first again.
	// The batch lies where writing ends the process. It stays until the next call. The
	// error of batches that come from the data process is a *comm.WaitError or a
	// *comm.PeerError, unless preprocessing them failed.
	Next() (*Batch, error)
}

// NewBatches makes a share of batches in memory.
func NewBatches(list []Batch) Batches { return &batchList{list: list} }

type batchList struct {
	list []Batch
	next int
}

func (b *batchList) Len() int { return len(b.list) }

func (b *batchList) Next() (*Batch, error) {
	batch := &b.list[b.next]
	b.next = (b.next + 1) % len(b.list)
	return batch, nil
}
