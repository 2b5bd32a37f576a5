package server

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/wire"
	"github.com/psbench/psbench/internal/host/hosttest"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/internal/host/protocol/protocoltest"
)

// spoken holds a dense bucket, a dense bucket that takes several frames, and a sparse bucket.
var spoken = []tensor.BucketSpec{
	{Index: 0, Elements: 5}, {Index: 1, Elements: comm.ChunkElements + 3},
	{Index: 2, Sparse: true, TableRows: 12, Width: 2, Capacity: 12, Elements: 24},
}

// The memory in which a part writes its answers.
const (
	itself    = "the push itself"
	another   = "another's push"
	ownMemory = "memory of its own"
)

// adder is a part that answers all trainers with the sum of their pushes. If asynchronous, adder
// answers each push at once with twice the pushed gradient.
type adder struct {
	trainers     int
	from         string
	asynchronous bool
	arrived      [3][]wire.Header // by bucket
	using        [3][2]int        // number of answers in use in the part's own memory, by bucket and turn
	announced    [3][2]bool
}

func (a *adder) take(p *protocoltest.Part, h wire.Header) error {
	switch h.Op {
	case protocoltest.Receive:
		taken := h
		taken.Op = protocoltest.Received
		a.arrived[h.Bucket] = append(a.arrived[h.Bucket], h)
		if a.asynchronous || len(a.arrived[h.Bucket]) == a.trainers {
			if err := a.answer(p, h.Bucket); err != nil {
				return err
			}
		}
		return p.Send(taken) // sent after the answer, which the protocol allows
	case protocoltest.Answered:
		for turn := range a.using[h.Bucket] { // in the order of the answers
			if a.using[h.Bucket][turn] > 0 {
				a.using[h.Bucket][turn]--
				return nil
			}
		}
		return fmt.Errorf("answered comes where nothing of bucket %d is answered", h.Bucket)
	}
	return fmt.Errorf("operation %#x", h.Op)
}

// answer answers the pushes that have arrived.
func (a *adder) answer(p *protocoltest.Part, bucket int32) error {
	all := a.arrived[bucket]
	a.arrived[bucket] = nil
	spec := &spoken[bucket]
	sum, width := map[int32][]float32{}, spec.Width // by row; a dense bucket has one row
	if !spec.Sparse {
		width = spec.Elements
	}
	again := 1
	if a.asynchronous {
		again = 2
	}
	for _, h := range all {
		rows := []int32{0}
		if spec.Sparse {
			rows = tensor.ViewOf[int32](p.Of(protocoltest.PushRows, pushIndex(h)), int(h.Rows))
		}
		for i, row := range rows {
			if sum[row] == nil {
				sum[row] = make([]float32, width)
			}
			of := sum[row]
			for k, v := range p.Floats(protocoltest.Push, pushIndex(h))[i*width:][:width] {
				of[k] += float32(again) * v
			}
		}
	}
	n := 0
	if spec.Sparse {
		n = len(sum)
	}
	put := func(values []float32, shown []byte) {
		var rows []int32
		for row := range sum {
			rows = append(rows, row)
		}
		slices.Sort(rows)
		for i, row := range rows {
			copy(values[i*width:], sum[row])
		}
		if spec.Sparse {
			copy(tensor.ViewOf[int32](shown, n), rows)
		}
	}
	say := func(h wire.Header, role uint8, index int32) error {
		return p.Send(wire.Header{Op: protocoltest.Answer, Flags: role, Batch: int64(index), Bucket: bucket,
			Rows: int32(n), Arg: h.Arg, Arg2: h.Arg2})
	}
	switch a.from {
	case itself:
		for _, h := range all {
			put(p.Floats(protocoltest.Push, pushIndex(h)), p.Of(protocoltest.PushRows, pushIndex(h)))
		}
		for _, h := range all {
			if err := say(h, protocoltest.Push, pushIndex(h)); err != nil {
				return err
			}
		}
		return nil
	case another:
		last := pushIndex(all[len(all)-1])
		put(p.Floats(protocoltest.Push, last), p.Of(protocoltest.PushRows, last))
		for _, h := range all {
			if err := say(h, protocoltest.Push, last); err != nil {
				return err
			}
		}
		return nil
	default:
		turn := int(all[0].Batch % 2)
		index := 2*bucket + int32(turn)
		if a.using[bucket][turn] > 0 {
			return fmt.Errorf("memory of bucket %d is in use by %d answers when it is needed again", bucket,
				a.using[bucket][turn])
		}
		if !a.announced[bucket][turn] {
			a.announced[bucket][turn] = true
			if err := p.Give(protocoltest.Own, index, make([]byte, 4*spec.Elements)); err != nil {
				return err
			}
			if err := p.Give(protocoltest.OwnRows, index, make([]byte, 4*spec.Capacity)); err != nil {
				return err
			}
		}
		own, rows := p.Mine(protocoltest.Own, index), p.Mine(protocoltest.OwnRows, index)
		put(tensor.ViewFloat32(own), rows)
		for _, h := range all {
			a.using[bucket][turn]++
			if err := say(h, protocoltest.Own, index); err != nil {
				return err
			}
		}
		return nil
	}
}

// pushIndex returns the tensor number of a push.
func pushIndex(h wire.Header) int32 { return int32(h.Arg)*int32(len(spoken)) + h.Bucket }

// openPart starts a server whose part is in a companion, played by take, and links trainers to it.
func openPart(t testing.TB, transport string, trainers int, timeout time.Duration, asynchronous bool,
	take func(*protocoltest.Part, wire.Header) error) (*Role, []comm.ServerLink, []*comm.Store, *protocoltest.Part) {
	t.Helper()
	dir := hosttest.Folder(t)
	part, peer := protocoltest.NewPart(t, dir, "server9.part", take)
	proc := hosttest.Process(t, dir, nil, process.Config{
		Name: "server9", Part: hosttest.Choice("server", "tested"), Timeout: timeout, Transport: transport,
		Listen: "127.0.0.1",
	})
	role := New(proc, Config{Protocol: true, Asynchronous: asynchronous})
	role, links, stores := openRole(t, role, Peers{Buckets: spoken, Part: peer}, trainers)
	if role.BoundaryNS() <= 0 {
		t.Errorf("a call to the part costs %d ns", role.BoundaryNS())
	}
	return role, links, stores, part
}

// fill writes the gradient that a trainer pushes in a batch. The numbers add up without rounding.
// In a sparse bucket, trainers with neighbouring numbers share some rows.
func fill(t testing.TB, b *tensor.Bucket, trainer int, batch int64) {
	t.Helper()
	if b.Sparse {
		hosttest.Must(t, b.Gradient.SetRows(3))
		for i := range b.Gradient.Rows {
			b.Gradient.Rows[i] = int32(2*i + trainer + int(batch%2))
		}
	}
	for i := range b.Gradient.Values {
		b.Gradient.Values[i] = float32((trainer+1)*int(batch+1) + i%7)
	}
}

// wanted returns the expected answer.
func wanted(t testing.TB, spec tensor.BucketSpec, trainers []int, batch int64) *tensor.Gradient {
	t.Helper()
	merger, answer := tensor.NewRowMerger(len(trainers)), tensor.NewBucket(spec)
	for _, trainer := range trainers {
		b := tensor.NewBucket(spec)
		fill(t, b, trainer, batch)
		if spec.Sparse {
			merger.Add(&b.Gradient)
			continue
		}
		for i, v := range b.Gradient.Values {
			answer.Gradient.Values[i] += v
		}
	}
	if spec.Sparse {
		hosttest.Must(t, merger.Sum(&answer.Gradient))
	}
	return &answer.Gradient
}

// A server in a companion answers pushes correctly over every transport, for every kind of memory
// that pushes and answers lie in.
func TestPartsServe(t *testing.T) {
	for _, transport := range []string{"shm", "tcp"} {
		for _, trainers := range []int{1, 2, 4} {
			for _, from := range []string{itself, another, ownMemory, "asynchronous"} {
				if testing.Short() && trainers != 2 || trainers == 4 && from != another && from != ownMemory {
					continue
				}
				t.Run(fmt.Sprintf("%s, %d trainers, %s", transport, trainers, from), func(t *testing.T) {
					a := &adder{trainers: trainers, from: from}
					if a.asynchronous = from == "asynchronous"; a.asynchronous {
						a.from = itself
					}
					role, links, stores, part := openPart(t, transport, trainers, hosttest.Patience, a.asynchronous,
						a.take)
					for range trainers%2 + 1 {
						pass(t, links, stores, a.asynchronous)
						hosttest.Must(t, role.Reset())
					}
					if err := part.End(); err != nil && !errors.Is(err, io.EOF) &&
						!strings.Contains(err.Error(), "closed") {
						t.Error(err)
					}
				})
			}
		}
	}
}

// pass makes every trainer push some batches and checks the answers.
func pass(t *testing.T, links []comm.ServerLink, stores []*comm.Store, asynchronous bool) {
	t.Helper()
	const batches = 3
	var sums [batches][]*tensor.Gradient // by bucket
	all := make([]int, len(links))
	for i := range all {
		all[i] = i
	}
	for batch := range sums {
		for _, spec := range spoken {
			sums[batch] = append(sums[batch], wanted(t, spec, all, int64(batch)))
		}
	}
	var trainers sync.WaitGroup
	for i, link := range links {
		trainers.Go(func() {
			elsewhere := comm.NewStore(spoken) // like a hook's own memory
			for batch := range int64(batches) {
				buckets := stores[i].Buckets
				if batch == 1 {
					buckets = elsewhere.Buckets
				}
				var futures []*comm.Future
				for _, b := range buckets {
					fill(t, b, i, batch)
					futures = append(futures, link.PushPull(batch, b))
				}
				for k, b := range buckets {
					if err := futures[k].Wait(); err != nil {
						t.Errorf("trainer %d, batch %d, bucket %d: %v", i, batch, k, err)
						return
					}
					want := sums[batch][k]
					if asynchronous {
						want = wanted(t, b.BucketSpec, []int{i, i}, batch)
					}
					if !slices.Equal(b.Gradient.Values, want.Values) || !slices.Equal(b.Gradient.Rows, want.Rows) {
						t.Errorf("trainer %d, batch %d, bucket %d: %v %v\nwant %v %v", i, batch, k,
							head(b.Gradient.Rows), head(b.Gradient.Values), head(want.Rows), head(want.Values))
						return
					}
				}
			}
		})
	}
	trainers.Wait()
}

func head[T any](list []T) []T { return list[:min(len(list), 8)] }
