package sdk

import (
	"fmt"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/shm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk/proto"
)

// A share of batches travels from the data process to a trainer in one of two
// forms. On Shm a frame says how large it is, and a segment that nobody can map for
// writing any more holds it. Elsewhere one frame says how many batches follow and how many
// bytes they take in memory, then comes one frame per batch: the lengths of its lists, then
// the lists.
const (
	opShare = comm.OpUser + iota
	opBatch
	opShareSegment
)

// sendShare sends a trainer batches.
func sendShare(st *station, conn *comm.Conn, share []Batch) error {
	if err := bound(conn, st.timeout); err != nil {
		return err
	}
	if st.transport() == comm.Shm {
		return sendShareSegment(conn, share)
	}
	return sendBatches(&callLink{Conn: conn}, share)
}

// receiveShare is the other side of sendShare. The batches are views of memory that the
// station owns and nobody may write.
func receiveShare(st *station, conn *comm.Conn) ([]Batch, error) {
	if err := bound(conn, st.timeout); err != nil {
		return nil, err
	}
	if st.transport() == comm.Shm {
		return receiveShareSegment(st, conn)
	}
	return receiveBatches(st, &callLink{Conn: conn})
}

func sendShareSegment(conn *comm.Conn, share []Batch) (err error) {
	segment, err := shm.New("the batches of "+conn.Peer(), 8*shareWords(share), true)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := segment.Close(); err == nil {
			err = cerr
		}
	}()
	writeShare(tensor.ViewInt64(segment.Bytes()), share)
	if err := segment.SealWriting(); err != nil {
		return err
	}
	return sendSegment(conn, opShareSegment, segment)
}

func receiveShareSegment(st *station, conn *comm.Conn) ([]Batch, error) {
	segment, err := receiveSegment(conn, opShareSegment, true)
	if err != nil {
		return nil, err
	}
	st.own(segment)
	share, err := viewShare(tensor.ViewInt64(segment.Bytes()))
	if err != nil {
		return nil, fmt.Errorf("%s sent batches that do not hold together: %w", conn.Peer(), err)
	}
	return share, nil
}

// A share in a segment consists of int64: how many batches there are, then of each
// batch the lengths of its lists, then of each batch its lists. Two features take one
// word; where they are odd, half a word is left over.

// lists is how many lists a batch consists of: offsets, indices, targets, features.
const lists = 4

// lengths are those of a batch's lists.
type lengths [lists]int64

// lengthsOf are those of a batch.
func lengthsOf(b *Batch) lengths {
	return lengths{int64(len(b.Offsets)), int64(len(b.Indices)), int64(len(b.Targets)), int64(len(b.Features))}
}

// allLengths are the lengths of each batch.
func allLengths(batches []Batch) []lengths {
	out := make([]lengths, len(batches))
	for i := range batches {
		out[i] = lengthsOf(&batches[i])
	}
	return out
}

// largestOf are lengths that no batch of a share exceeds.
func largestOf(share *proto.Share, in *proto.Inputs) lengths {
	n := share.GetBatchSamples()
	return lengths{n + 1, share.GetBatchIndices(), n * max(1, in.GetTargets()), n * in.GetFeatures()}
}

// possible says that no length is negative, or so large that sums of them overflow.
func (n lengths) possible() bool {
	for _, k := range n {
		if k < 0 || k > comm.MaxPayload {
			return false
		}
	}
	return true
}

// bytes is what the lists take in a frame.
func (n lengths) bytes() int64 { return 8*(n[0]+n[1]+n[2]) + 4*n[3] }

// words is what the lists take in a segment, in int64.
func (n lengths) words() int64 { return n[0] + n[1] + n[2] + featureWords(n[3]) }

func featureWords(features int64) int64 { return (features + 1) / 2 }

// shareWords is how many int64 a share takes.
func shareWords(share []Batch) int {
	n := int64(1)
	for i := range share {
		n += lists + lengthsOf(&share[i]).words()
	}
	return int(n)
}

func writeShare(words []int64, share []Batch) {
	words[0] = int64(len(share))
	rest := words[1:]
	for i := range share {
		n := lengthsOf(&share[i])
		rest = rest[copy(rest, n[:]):]
	}
	for i := range share {
		b := &share[i]
		for _, list := range [][]int64{b.Offsets, b.Indices, b.Targets} {
			rest = rest[copy(rest, list):]
		}
		copy(tensor.Int64Bytes(rest), tensor.Float32Bytes(b.Features))
		rest = rest[featureWords(int64(len(b.Features))):]
	}
}

// viewShare finds the batches in words, which it does not trust.
func viewShare(words []int64) ([]Batch, error) {
	if len(words) == 0 || words[0] < 0 || words[0] > int64(len(words)-1)/lists {
		return nil, fmt.Errorf("%d words cannot begin with the count of their batches", len(words))
	}
	count := words[0]
	sizes, rest := words[1:1+lists*count], words[1+lists*count:]
	take := func(k int64) []int64 {
		part := rest[:k:k]
		rest = rest[k:]
		return part
	}
	share := make([]Batch, count)
	for i := range share {
		n := lengths(sizes[lists*i:])
		if !n.possible() || n.words() > int64(len(rest)) {
			return nil, fmt.Errorf("batch %d has lists of %d, but only %d words are left for them", i, n, len(rest))
		}
		share[i] = Batch{Offsets: take(n[0]), Indices: take(n[1]), Targets: take(n[2])}
		share[i].Features = tensor.ViewFloat32(tensor.Int64Bytes(take(featureWords(n[3]))))[:n[3]:n[3]]
		if err := checkLists(&share[i]); err != nil {
			return nil, fmt.Errorf("batch %d: %w", i, err)
		}
	}
	if len(rest) > 0 {
		return nil, fmt.Errorf("%d words are left over after %d batches", len(rest), count)
	}
	return share, nil
}

func sendBatches(conn *callLink, share []Batch) error {
	bytes := int64(0)
	for i := range share {
		bytes += 8 * lengthsOf(&share[i]).words()
	}
	if err := conn.Send(&comm.Header{Op: opShare, Arg: int64(len(share)), Arg2: bytes}); err != nil {
		return err
	}
	for i := range share {
		if err := sendBatch(conn, opBatch, &share[i]); err != nil {
			return err
		}
	}
	return nil
}

// sendBatch sends a batch: the lengths of its lists, then the lists.
func sendBatch(conn *callLink, op comm.Op, b *Batch) error {
	conn.Lengths = lengthsOf(b)
	return conn.Send(&comm.Header{Op: op}, tensor.Int64Bytes(conn.Lengths[:]),
		tensor.Int64Bytes(b.Offsets), tensor.Int64Bytes(b.Indices), tensor.Int64Bytes(b.Targets), tensor.Float32Bytes(b.Features))
}

// receiveBatches is the other side of sendBatches. The batches lie in memory that the
// station owns and nobody may write, as on Shm.
func receiveBatches(st *station, conn *callLink) ([]Batch, error) {
	var h comm.Header
	if err := expect(conn, &h, opShare); err != nil {
		return nil, err
	}
	if h.Arg2 < 0 || h.Arg2 > comm.MaxPayload {
		return nil, fmt.Errorf("%s sent %d batches of %d bytes, which cannot be", conn.Peer(), h.Arg, h.Arg2)
	}
	segment, err := shm.New("the batches of "+st.name(), int(max(1, h.Arg2)), false)
	if err != nil {
		return nil, err
	}
	st.own(segment)
	seen, err := segment.ReadOnly()
	if err != nil {
		return nil, err
	}
	var share []Batch
	at := segment.Bytes()
	for range h.Arg {
		if err := expect(conn, &h, opBatch); err != nil {
			return nil, err
		}
		n, err := readLengths(conn, &h)
		if err != nil {
			return nil, err
		}
		size := 8 * n.words()
		if size > int64(len(at)) {
			return nil, fmt.Errorf("%s sent a batch of %d bytes where it told of %d", conn.Peer(), size, len(at))
		}
		if err := conn.ReadFull(at[:n.bytes()]); err != nil {
			return nil, err
		}
		b, err := viewBatch(conn, seen, n)
		if err != nil {
			return nil, err
		}
		share = append(share, b)
		at, seen = at[size:], seen[size:]
	}
	return share, nil
}

// readOnlyShare moves batches that were made in this process to where nobody may write.
func readOnlyShare(st *station, share []Batch) ([]Batch, error) {
	segment, err := shm.New("the preprocessed batches of "+st.name(), 8*shareWords(share), true)
	if err != nil {
		return nil, err
	}
	st.own(segment)
	writeShare(tensor.ViewInt64(segment.Bytes()), share)
	seen, err := segment.ReadOnly()
	if err != nil {
		return nil, err
	}
	return viewShare(tensor.ViewInt64(seen))
}
