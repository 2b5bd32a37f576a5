package fabric

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/commtest"
	"github.com/psbench/psbench/internal/comm/linktest"
	"github.com/psbench/psbench/internal/comm/provider"
	"github.com/psbench/psbench/internal/comm/stream"
	"github.com/psbench/psbench/internal/comm/wire"
)

// toy is a separate provider: it answers each push at once with the push's
// gradient, and has all optional abilities.
type toy struct {
	provider.Provider
	allocate provider.Allocate
	device   comm.Device
}

// echo is toy's link.
type echo struct{ provider toy }

func (echo) PushPull(int64, *tensor.Bucket) *comm.Future { return comm.Completed(nil) }
func (echo) Close() error                                { return nil }

func (t toy) NewServerLink(*wire.Conn, *comm.Store, time.Duration) (comm.ServerLink, error) {
	return echo{t}, nil
}

func (t toy) NewAggregate(wire.Links, int, *wire.Conn, *comm.Store) (comm.ServerLink, error) {
	return echo{t}, nil
}

func (t toy) NewStore(owner string, specs []tensor.BucketSpec) (*comm.Store, error) {
	if t.allocate != nil {
		return t.allocate(owner, specs)
	}
	return t.Provider.NewStore(owner, specs)
}

func (t toy) Placing(allocate provider.Allocate) provider.Provider {
	t.allocate = allocate
	return t
}

func (t toy) On(d comm.Device) provider.Provider {
	t.device = d
	return t
}

// memory is a fake device.
type memory struct{ comm.Device }

// A new provider needs only a row: a fabric that is opened by name has all
// abilities of its provider.
func TestProviderOfItsOwnIsARow(t *testing.T) {
	before := fabrics
	fabrics = slices.Clone(before)
	t.Cleanup(func() { fabrics = before })
	Extend(&Fabric{Name: "toy", Network: wire.TCP, Provider: toy{Provider: stream.Provider{}}})

	f, err := Open("toy")
	commtest.Must(t, err)
	if !f.Aggregates() {
		t.Error("it does not aggregate")
	}
	if got := f.Companions(); got != hostStreams {
		t.Errorf("it maps no memory, but %s joins its companions", got.Name)
	}
	specs := []tensor.BucketSpec{commtest.DenseSpec(0, 4)}
	for i, stores := range []struct {
		of        *Fabric
		inSegment bool
	}{{f, false}, {f.InSegments(), true}} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			store, err := stores.of.NewStore("trainer0", specs)
			commtest.Must(t, err)
			if got := store.Segment != nil; got != stores.inSegment {
				t.Errorf("a store lies in a segment: %v, want %v", got, stores.inSegment)
			}
			commtest.Must(t, store.Close())
		})
	}
	link, err := f.On(memory{}).NewServerLink(nil, nil, linktest.Patience)
	commtest.Must(t, err)
	if got := link.(echo).provider.device; got != (memory{}) {
		t.Errorf("its link leaves buckets on device %v", got)
	}
	commtest.Must(t, link.PushPull(0, comm.NewStore(specs).Buckets[0]).Wait())
}

// Every method that derives a fabric keeps the provider's type, or returns the
// fabric unchanged.
func TestAbilitiesKeepTheProvider(t *testing.T) {
	for _, f := range fabrics {
		t.Run(f.Name, func(t *testing.T) {
			for name, got := range map[string]*Fabric{"InSegments": f.InSegments(), "On": f.On(memory{})} {
				if want := kind(f); kind(got) != want || got.Name != f.Name {
					t.Errorf("%s makes %s by %s of %s by %s", name, got.Name, kind(got), f.Name, want)
				}
			}
		})
	}
}

func kind(f *Fabric) string { return fmt.Sprintf("%T", f.Provider) }
