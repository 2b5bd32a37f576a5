package sdk

import (
	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/sdk/proto"
)

// fetched is what a rank has of the data.
type fetched struct {
	Batches Batches   // its share
	HeldOut []Batch   // its share of those that are held out
	Sizes   []lengths // of the largest batches, among others
}

// fetcher takes what the data process sends a rank.
type fetcher struct {
	*station
	trainer Trainer // which may be a Preprocessor
	inputs  *proto.Inputs
}

// fetchBatches takes what the data process sends: the rank's share of the batches, at
// once or during the passes, and of those that are held out. Trainers that are a
// Preprocessor change them.
func fetchBatches(st *station, trainer Trainer, inputs *proto.Inputs, req *proto.ConnectRequest) (*fetched, error) {
	f := &fetcher{st, trainer, inputs}
	conn, err := st.dial(req.GetData(), purposeBatches)
	if err != nil {
		return nil, err
	}
	st.own(conn)
	out, largest := &fetched{}, largestOf(req.GetShare(), inputs)
	if req.GetStreamed() {
		out.Sizes = []lengths{largest}
	} else {
		share, err := f.receive(conn)
		if err != nil {
			return nil, err
		}
		out.Sizes, out.Batches = allLengths(share), NewBatches(share)
	}
	if out.HeldOut, err = f.receive(conn); err != nil {
		return nil, err
	}
	out.Sizes = append(out.Sizes, allLengths(out.HeldOut)...)
	if !req.GetStreamed() {
		return out, conn.Close()
	}
	stream := newBatchStream(conn, int(req.GetShare().GetBatches()), st.timeout, func(batches []Batch) ([]Batch, error) {
		return f.preprocess(batches, &largest)
	})
	out.Batches = stream
	st.owned.Go(func() { stream.serve(st.done) })
	st.own(stream)
	return out, nil
}

func (f *fetcher) receive(conn *comm.Conn) ([]Batch, error) {
	share, err := receiveShare(f.station, conn)
	if err != nil {
		return nil, err
	}
	out, err := f.preprocess(share, nil)
	if err != nil || len(out) == 0 || &out[0] == &share[0] {
		return out, err
	}
	return readOnlyShare(f.station, out)
}
