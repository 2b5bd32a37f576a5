package micro

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/internal/comm/bench"
	"github.com/psbench/psbench/internal/comm/fabric"
)

// fabricsOf returns the fabrics with these names.
func fabricsOf(names ...string) []*fabric.Fabric {
	var out []*fabric.Fabric
	for _, name := range names {
		f, err := fabric.Open(name)
		if err != nil {
			panic(err)
		}
		out = append(out, f)
	}
	return out
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// measured lists an operation with a server, two collectives, and an operation that moves no data.
var measured = []*bench.Operation{bench.PushPull, bench.AllReduce, bench.Broadcast, bench.Barrier}

// planOf returns a plan that passes Check.
func planOf(trainers, servers int, operations ...*bench.Operation) *Plan {
	return &Plan{
		Operations: operations, Fabrics: fabricsOf("shm", "tcp"), Modes: []Mode{Fresh, Warm},
		Places: []Place{InPlace, Copied},
		Sizes:  []int{4096, 1 << 20}, Width: 128, Density: 0.5,
		World:  config.World{Trainers: trainers, Servers: servers},
		Server: config.Part{Key: "average", Elementwise: true},
		Expect: Mean, Seconds: 1, Repeat: 3, Limits: true, Timeout: time.Minute,
	}
}

func TestCheck(t *testing.T) {
	if err := planOf(2, 1, measured...).Check(); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*Plan){
		"--seconds is NaN":        func(p *Plan) { p.Seconds = math.NaN() },
		"--density is NaN":        func(p *Plan) { p.Density = math.NaN() },
		"--density is 0 but":      func(p *Plan) { p.Density = 0 },
		"--width is 0 but":        func(p *Plan) { p.Width = 0 },
		"--rounds is 1000001 but": func(p *Plan) { p.Rounds = 1_000_001 },
		"--repeat is 0 but":       func(p *Plan) { p.Repeat = 0 },
		"dense has no form for --sparse": func(p *Plan) {
			p.Sparse, p.Operations[0] = true, &bench.Operation{Name: "dense", Dense: true}
		},
		"pushpull needs a server":               func(p *Plan) { p.World.Servers = 0 },
		"size 2B is no multiple of the 4":       func(p *Plan) { p.Sizes[1] = 2 },
		"size 4KiB is given twice":              func(p *Plan) { p.Sizes[1] = 4096 },
		"size 16GiB is more than":               func(p *Plan) { p.Sizes[1] = 16 << 30 },
		"a row of --width 100, which is 400 by": func(p *Plan) { p.Sparse, p.Width = true, 100 },
	} {
		t.Run(want, func(t *testing.T) {
			p := planOf(2, 1, slices.Clone(measured)...)
			change(p)
			if err := p.Check(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("the plan is %v, want %q", err, want)
			}
		})
	}
}

func TestCells(t *testing.T) {
	var got []string
	for _, c := range planOf(2, 1, bench.Broadcast, bench.Barrier).cells() {
		got = append(got, c.String())
	}
	want := []string{
		"broadcast of 4KiB, fresh, inplace", "broadcast of 1MiB, fresh, inplace",
		"broadcast of 4KiB, fresh, copy", "broadcast of 1MiB, fresh, copy",
		"broadcast of 4KiB, warm, inplace", "broadcast of 1MiB, warm, inplace",
		"broadcast of 4KiB, warm, copy", "broadcast of 1MiB, warm, copy",
		"barrier, fresh", "barrier, warm",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestBuckets(t *testing.T) {
	if got := planOf(2, 1, bench.Barrier).buckets(); got != nil {
		t.Errorf("barriers need the buckets %v", got)
	}
	p := planOf(2, 1, bench.AllReduce, bench.Barrier)
	if d := cmp.Diff([]tensor.BucketSpec{{Elements: 1024}, {Index: 1, Elements: 1 << 18}}, p.buckets()); d != "" {
		t.Error(d)
	}
	p.Sparse = true
	if d := cmp.Diff(tensor.BucketSpec{Elements: 1024, Sparse: true, TableRows: 8, Width: 128, Capacity: 8},
		p.buckets()[0]); d != "" {
		t.Error(d)
	}
}

func TestTurnRounds(t *testing.T) {
	for _, c := range []struct {
		rounds  int
		seconds float64
		repeat  int
		round   time.Duration
		want    int
	}{
		{0, 1, 1, time.Millisecond, 1000},
		{0, 1, 3, time.Millisecond, 334},
		{0, 1, 1, time.Second, 20},
		{0, 1, 3, time.Second, 7},
		{0, 1, 1, time.Microsecond, 3000},
		{0, 1, 1, 0, 3000},
		{0, 3600, 1, time.Nanosecond, 3000},
		{7, 1, 1, time.Second, 7},
		{7, 1, 3, time.Second, 3},
		{1, 1, 3, time.Second, 1},
	} {
		t.Run(fmt.Sprint(c.rounds), func(t *testing.T) {
			p := Plan{Rounds: c.rounds, Seconds: c.seconds, Repeat: c.repeat}
			if got := p.turnRounds(c.round); got != c.want {
				t.Errorf("%+v gives %d rounds", c, got)
			}
		})
	}
}

// volumeOf passes all settings of the plan and the cell to the operation's Volume function.
func TestVolumeOfACell(t *testing.T) {
	p := planOf(4, 2, bench.AllReduce)
	p.Sparse, p.Width, p.Density = true, 8, 0.25
	var got bench.Case
	o := &bench.Operation{Volume: func(c bench.Case) bench.Volume {
		got = c
		return bench.Volume{Alg: 7}
	}}
	want := bench.Case{Trainers: 4, Servers: 2, Elementwise: true, Bytes: 64, Sparse: true, Width: 8, Density: 0.25,
		Warm: true, Copied: true}
	if v := p.volumeOf(cell{operation: o, mode: Warm, place: Copied, size: 64}); v.Alg != 7 || got != want {
		t.Errorf("the volume of %+v is %+v, want that of %+v", got, v, want)
	}
	want.Warm, want.Copied = false, false
	if p.volumeOf(cell{operation: o, mode: Fresh, place: InPlace, size: 64}); got != want {
		t.Errorf("the volume is that of %+v, want that of %+v", got, want)
	}
}

// The measuring processes belong to a plugin that has the hook. If the server is asked, the plugin must have the server
// too.
func TestMeasuringPlugin(t *testing.T) {
	plugin := func(name string, includes ...string) config.Part {
		return config.Part{Key: name, Plugin: registry.Plugin{Name: name, Includes: includes}}
	}
	for name, c := range map[string]struct {
		operation       *bench.Operation
		server, hook    config.Part
		expect          Expect
		plugin          string
		asked, unlinked bool
	}{
		"a collective":                   {bench.AllReduce, plugin("a"), plugin("b"), Part, "builtin", false, false},
		"a server that is asked":         {bench.PushPull, plugin("a"), plugin("b"), Part, "a", true, false},
		"a server that is not":           {bench.PushPull, plugin("a"), plugin("b"), Mean, "builtin", false, false},
		"a hook":                         {bench.Hook, plugin("a"), plugin("b"), Mean, "b", false, false},
		"both":                           {bench.Hook, plugin("a"), plugin("a"), Part, "a", true, false},
		"both apart":                     {bench.Hook, plugin("a"), plugin("b"), Part, "b", false, false},
		"a server beside the hook":       {bench.Hook, plugin("a", "b"), plugin("b"), Part, "a", true, false},
		"a hook beside the server":       {bench.Hook, plugin("a"), plugin("b", "a"), Part, "b", true, false},
		"a hook that needs no server":    {bench.Hook, plugin("a"), plugin("b"), Part, "b", false, true},
		"a server for which none pushes": {bench.Hook, plugin("a", "b"), plugin("b"), Part, "b", false, true},
	} {
		t.Run(name, func(t *testing.T) {
			p := planOf(2, 1, c.operation)
			p.Server, p.Hook, p.Expect, p.HookLinks.Server = c.server, c.hook, c.expect, !c.unlinked
			if got := p.measuring().Name; got != c.plugin || p.asksServer() != c.asked {
				t.Errorf("%s: plugin %s measures, and asks the server: %v", name, got, p.asksServer())
			}
		})
	}
}
