package batches

import (
	"github.com/psbench/psbench/internal/comm/wire"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/sdk"
)

// Fetched holds the data of one rank.
type Fetched struct {
	Batches Batches     // the rank's share of the training batches
	HeldOut []sdk.Batch // the rank's share of the held-out batches
	Sizes   []Lengths   // list lengths of batches, the largest included
}

// Batches are the training batches of one rank. Every pass starts again at the first batch of an
// epoch, since a pass may end within an epoch.
type Batches interface {
	sdk.Batches
	// Rewind begins a pass: the next call of Next returns the first batch of an epoch.
	Rewind() error
}

// kept holds batches that stay in memory.
type kept struct {
	sdk.Batches
	list []sdk.Batch
}

func newKept(list []sdk.Batch) *kept { return &kept{sdk.NewBatches(list), list} }

// Rewind implements Batches.
func (k *kept) Rewind() error {
	k.Batches = sdk.NewBatches(k.list)
	return nil
}

// Source says where a rank gets its batches from.
type Source struct {
	Data     process.Peer
	Share    Share
	Streamed bool // whether the batches arrive during the pass
}

// fetcher receives a rank's batches from the data process.
type fetcher struct {
	*process.Process
	trainer sdk.Trainer // may be a Preprocessor
	inputs  sdk.InputSpec
}

// Fetch receives the rank's share of the held-out batches and of the training batches. Training
// batches arrive at once, or during the passes if the data is streamed. A trainer that is a
// Preprocessor changes both.
func Fetch(p *process.Process, trainer sdk.Trainer, inputs sdk.InputSpec, from Source) (*Fetched, error) {
	f := &fetcher{p, trainer, inputs}
	conn, err := p.Dial(from.Data, process.PurposeBatches)
	if err != nil {
		return nil, err
	}
	out, largest := &Fetched{}, LargestOf(from.Share, inputs)
	if from.Streamed {
		out.Sizes = []Lengths{largest}
	} else {
		share, err := f.receive(conn)
		if err != nil {
			return nil, err
		}
		out.Sizes, out.Batches = AllLengths(share), newKept(share)
	}
	if out.HeldOut, err = f.receive(conn); err != nil {
		return nil, err
	}
	out.Sizes = append(out.Sizes, AllLengths(out.HeldOut)...)
	if !from.Streamed {
		return out, conn.Close()
	}
	stream := newStream(conn, from.Share.Batches, p.Timeout, func(batches []sdk.Batch) ([]sdk.Batch, error) {
		return f.preprocess(batches, &largest)
	})
	out.Batches = stream
	p.Owned.Go(func() { stream.serve(p.Done) })
	p.OwnMemory(stream)
	return out, nil
}

func (f *fetcher) receive(conn *wire.Conn) ([]sdk.Batch, error) {
	share, err := receiveShare(f.Process, conn)
	if err != nil {
		return nil, err
	}
	out, err := f.preprocess(share, nil)
	if err != nil || len(out) == 0 || &out[0] == &share[0] {
		return out, err
	}
	return readOnlyShare(f.Process, out)
}
