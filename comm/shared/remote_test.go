package shared

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/internal/commtest"
	"github.com/psbench/psbench/comm/internal/linktest"
	"github.com/psbench/psbench/comm/shared/layout"
	"github.com/psbench/psbench/comm/tensor"
)

// large is the least bucket that a server works on in the process of its trainer.
var large = []tensor.BucketSpec{commtest.DenseSpec(0, remoteElements)}

// doubled answers by Remote with twice what was pushed, in pieces that end nowhere together.
func doubled(a *comm.Arrival) error {
	if a.Remote == nil {
		return errors.New("the push is not remote")
	}
	piece := make([]float32, 100_003)
	for from := 0; from < len(a.Gradient.Values); from += len(piece) {
		part := piece[:min(len(piece), len(a.Gradient.Values)-from)]
		if err := a.Remote.Fetch(part, from); err != nil {
			return err
		}
		for i := range part {
			part[i] *= 2
		}
		if err := a.Remote.Give(part, from); err != nil {
			return err
		}
	}
	return a.Answer(a.Gradient)
}

// A large gradient outside the store is read and written where it is; its pushes go by
// nothing else, and allocate nothing.
func TestSharedPushIsRemote(t *testing.T) {
	needsReach(t)
	h := newStarOf(t, 1, large, linktest.Patience, true, doubled)
	b := h.stores[0].Buckets[0]
	own := tensor.NewBucket(large[0])
	commtest.Noise(1, own.Gradient.Values)
	want := slices.Clone(own.Gradient.Values)
	for batch := range int64(3) {
		commtest.Must(t, h.links[0].PushPull(batch, own).Wait())
		for i := range want {
			want[i] *= 2
		}
		if !slices.Equal(own.Gradient.Values, want) {
			t.Fatalf("batch %d: the gradient is not what the server gave", batch)
		}
	}
	for _, untouched := range [][]float32{b.Gradient.Values, h.links[0].client.copies.Buckets[0].Gradient.Values} {
		if i := slices.IndexFunc(untouched, func(v float32) bool { return v != 0 }); i >= 0 {
			t.Errorf("element %d of shared memory is %v", i, untouched[i])
		}
	}
}

// A server that answers with a gradient of its own gives it to the trainer.
func TestSharedRemotePushTakesAnyAnswer(t *testing.T) {
	needsReach(t)
	answer := tensor.NewGradient(large[0])
	commtest.Noise(2, answer.Values)
	h := newStarOf(t, 1, large, linktest.Patience, true, func(a *comm.Arrival) error { return a.Answer(&answer) })
	own := tensor.NewBucket(large[0])
	commtest.Must(t, h.links[0].PushPull(0, own).Wait())
	commtest.RequireSame(t, &own.Gradient, &answer)
}

// Small gradients, and those for a server that does not work piece by piece, go through the
// copies.
func TestSharedPushIsCopied(t *testing.T) {
	for name, c := range map[string]struct {
		specs    []tensor.BucketSpec
		remotely bool
	}{
		"small": {[]tensor.BucketSpec{commtest.DenseSpec(0, remoteElements-1)}, true},
		"whole": {large, false},
	} {
		h := newStarOf(t, 1, c.specs, linktest.Patience, c.remotely, func(a *comm.Arrival) error {
			if a.Remote != nil {
				return errors.New("the push is remote")
			}
			return a.Answer(a.Gradient)
		})
		if err := h.links[0].PushPull(0, tensor.NewBucket(c.specs[0])).Wait(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What a trainer says of a gradient in its process is checked, and its address by the kernel.
func TestSharedPortRefusesRemoteLies(t *testing.T) {
	needsReach(t)
	for want, c := range map[string]struct {
		spec     tensor.BucketSpec
		remotely bool
		address  uint64
	}{
		"trainer0 pushed bucket 0 to server9 from its own memory, which server9 does not reach": {large[0], false, 0},
		"pushed bucket 0 to server9 from its own memory":                                        {commtest.SparseSpec(0, 10, 2, 4), true, 0},
		"server9 lost its link to trainer0 during batch 0, bucket 0: bad address":               {large[0], true, 4096},
	} {
		h := newStarOf(t, 1, []tensor.BucketSpec{c.spec}, linktest.Patience, c.remotely, doubled)
		line := h.links[0].pushes[0].line
		line.Place, line.Address = layout.InProcess, c.address
		line.Pushed.Add(1)
		h.links[0].client.server.Ring()
		if err := <-h.served; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: serve gave %v", want, err)
		}
	}
}

// The gradient of a push that failed is kept: its server may only be slow.
func TestSharedRemotePushThatFailedIsKept(t *testing.T) {
	needsReach(t)
	h := newStarOf(t, 1, large, 300*time.Millisecond, true, func(*comm.Arrival) error { return nil })
	own := tensor.NewBucket(large[0])
	var late *comm.WaitError
	if err := h.links[0].PushPull(0, own).Wait(); !errors.As(err, &late) {
		t.Errorf("a server that does not answer gave %v", err)
	}
	abandoned.Lock()
	defer abandoned.Unlock()
	if !slices.ContainsFunc(abandoned.values, func(v []float32) bool { return &v[0] == &own.Gradient.Values[0] }) {
		t.Error("the gradient is not kept")
	}
}
