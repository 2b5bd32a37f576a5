package bench

import (
	"math"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func requireVolume(t *testing.T, name string, got, want Volume) {
	t.Helper()
	if d := cmp.Diff(want, got, cmpopts.EquateApprox(1e-12, 0)); d != "" {
		t.Errorf("%s: %s", name, d)
	}
}

func TestVolumes(t *testing.T) {
	const s = 64000.0 // above the limit of eager reduction
	for name, c := range map[string]struct {
		operation *Operation
		in        Case
		want      Volume
	}{
		"push-pull": {PushPull, Case{Trainers: 2, Servers: 1, Elementwise: true},
			Volume{2 * s, 4 * s, 4 * s, 4 * s}},
		"push-pull alone": {PushPull, Case{Trainers: 1, Servers: 1, Elementwise: true},
			Volume{2 * s, 2 * s, 0, 2 * s}},
		"push-pull alone, copied": {PushPull, Case{Trainers: 1, Servers: 1, Elementwise: true, Copied: true},
			Volume{2 * s, 2 * s, 4 * s, 2 * s}},
		"push-pull of four": {PushPull, Case{Trainers: 4, Servers: 1, Elementwise: true},
			Volume{2 * s, 8 * s, 8 * s, 8 * s}},
		"two servers": {PushPull, Case{Trainers: 4, Servers: 2, Elementwise: true},
			Volume{2 * s, 8 * s, 8 * s, 8 * s}},
		"copied": {PushPull, Case{Trainers: 2, Servers: 1, Elementwise: true, Copied: true},
			Volume{2 * s, 4 * s, 12 * s, 4 * s}},
		"average_batch": {PushPull, Case{Trainers: 4, Servers: 2, Elementwise: true},
			Volume{2 * s, 8 * s, 8 * s, 8 * s}},
		"average_batch alone": {PushPull, Case{Trainers: 1, Servers: 1, Elementwise: true},
			Volume{2 * s, 2 * s, 0, 2 * s}},
		"another server": {PushPull, Case{Trainers: 4, Servers: 1, Copied: true},
			Volume{2 * s, 8 * s, 0, 8 * s}},
		"all-reduce":        {AllReduce, Case{Trainers: 4}, Volume{s, 1.5 * s, 8 * s, 6 * s}},
		"all-reduce alone":  {AllReduce, Case{Trainers: 1, Copied: true}, Volume{s, 0, 0, 0}},
		"all-reduce copied": {AllReduce, Case{Trainers: 2, Copied: true}, Volume{s, s, 12 * s, 2 * s}},
		"all-reduce, eager": {AllReduce, Case{Trainers: 4, Bytes: 16 << 10},
			Volume{16 << 10, 1.5 * (16 << 10), 28 * (16 << 10), 6 * (16 << 10)}},
		"broadcast":                {Broadcast, Case{Trainers: 4}, Volume{s, s, 6 * s, 3 * s}},
		"broadcast alone":          {Broadcast, Case{Trainers: 1, Copied: true}, Volume{s, s, 0, 0}},
		"reduce-scatter":           {ReduceScatter, Case{Trainers: 4}, Volume{s, 0.75 * s, 5 * s, 3 * s}},
		"reduce-scatter copied":    {ReduceScatter, Case{Trainers: 2, Copied: true}, Volume{s, 0.5 * s, 11 * s, s}},
		"reduce-scatter alone":     {ReduceScatter, Case{Trainers: 1, Copied: true}, Volume{s, 0, 0, 0}},
		"all-gather":               {AllGather, Case{Trainers: 4}, Volume{s, 0.75 * s, 6 * s, 3 * s}},
		"all-to-all":               {AllToAll, Case{Trainers: 4}, Volume{s, 0.75 * s, 6 * s, 6 * s}},
		"all-to-all of two":        {AllToAll, Case{Trainers: 2}, Volume{s, 0.5 * s, 2 * s, s}},
		"barrier":                  {Barrier, Case{Trainers: 4}, Volume{}},
		"a barrier copies nothing": {Barrier, Case{Trainers: 4, Copied: true}, Volume{}},
		"a hook":                   {Hook, Case{Trainers: 4, Copied: true}, Volume{Alg: s, Bus: 1.5 * s}},
		"collectives have no share": {AllReduce, Case{Trainers: 4, Servers: 4, Elementwise: true},
			Volume{s, 1.5 * s, 8 * s, 6 * s}},
	} {
		t.Run(name, func(t *testing.T) {
			if c.in.Bytes == 0 {
				c.in.Bytes = s
			}
			requireVolume(t, name, c.operation.VolumeOf(c.in), c.want)
		})
	}
}

func TestSparseVolumes(t *testing.T) {
	// Each of the table's 8 rows has 128 elements and a row number. A rank
	// pushes half of the rows.
	const pushed = 4 * 129 * 4.0
	for name, c := range map[string]struct {
		operation *Operation
		want      Volume
	}{
		"push-pull":  {PushPull, Volume{Alg: 2.5 * pushed, Bus: 4 * 2.5 * pushed, Received: 4 * 2.5 * pushed}}, // two trainers per server: 6 rows
		"all-reduce": {AllReduce, Volume{Alg: 1.875 * pushed, Bus: 3 * pushed, Received: 12 * pushed}},         // of four: 7.5 rows
		"broadcast":  {Broadcast, Volume{Alg: pushed, Bus: pushed, Received: 3 * pushed}},
	} {
		t.Run(name, func(t *testing.T) {
			in := Case{Trainers: 4, Servers: 2, Elementwise: true, Bytes: 4096, Sparse: true, Width: 128, Density: 0.5}
			requireVolume(t, name, c.operation.VolumeOf(in), c.want)
		})
	}
}

// In a warm sparse round, ranks push the previous round's result, except in an
// operation that reduces nothing.
func TestWarmSparseVolumes(t *testing.T) {
	in := Case{Trainers: 2, Servers: 1, Bytes: 4096, Sparse: true, Width: 128, Density: 0.5}
	warm := in
	warm.Warm = true
	for i, o := range Operations {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			if o.Empty || o.Dense {
				return
			}
			a, b := o.VolumeOf(in), o.VolumeOf(warm)
			if grows := b.Bus > a.Bus && !math.IsInf(b.Bus, 0); grows != (o != Broadcast) {
				t.Errorf("%s moves %+v in fresh rounds and %+v in warm ones", o.Name, a, b)
			}
		})
	}
}

// Every operation sets the fields that the harness relies on.
func TestOperationsAreWhole(t *testing.T) {
	for i, o := range Operations {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			if Find(o.Name) != o {
				t.Errorf("%s is not found by its name", o.Name)
			}
			if o.Run == nil ||
				!o.Empty && (o.Expect == nil || o.Volume == nil || o.Moves == "" != o.Hooked || o.Bandwidths[0] == "" ||
					o.Dense != (o.Bandwidths[1] == "")) {
				t.Errorf("%s is %+v", o.Name, o)
			}
		})
	}
	if Find("gather") != nil {
		t.Error("an operation is found that does not exist")
	}
}

// The expected parts of a dense bucket cover each element exactly once. A
// reduce-scatter leaves out the shards of other ranks.
func TestExpectedPartsCoverTheBucket(t *testing.T) {
	for i, o := range Operations {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			if o.Empty {
				return
			}
			for _, elements := range []int{0, 1, 7, 4096} {
				seen := make([]int, elements)
				for rank := range 3 {
					for _, p := range o.Expect(Round{Number: 5, Elements: elements, Rank: rank, Trainers: 3,
						Partners: []int{0, 1, 2}, Reduced: []int{0, 1, 2}}) {
						if p.Source < 0 || p.Source+p.To-p.From > elements || len(p.Ranks) == 0 {
							t.Errorf("%s of %d elements expects %+v", o.Name, elements, p)
						}
						for i := p.From; i < p.To; i++ {
							seen[i]++
						}
					}
				}
				want := 3
				if o == ReduceScatter {
					want = 1
				}
				for i, n := range seen {
					if n != want {
						t.Errorf("%s of %d elements expects element %d %d times on 3 ranks, want %d", o.Name, elements,
							i,
							n, want)
					}
				}
			}
		})
	}
}
