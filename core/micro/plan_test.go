package micro

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/core/config"
	"github.com/psbench/psbench/core/topology"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// planOf passes Check.
func planOf(trainers, servers int, operations ...Operation) *Plan {
	return &Plan{
		Operations: operations, Transports: []comm.Transport{comm.Shm, comm.TCP}, Modes: []Mode{Fresh, Warm}, Places: []Place{InPlace, Copied},
		Sizes: []int{4096, 1 << 20}, Width: 128, Density: 0.5,
		World: topology.World{Trainers: trainers, Servers: servers}, Server: config.Part{Key: "average"},
		Expect: Mean, Seconds: 1, Repeat: 3, Limits: true, Timeout: time.Minute,
	}
}

func TestCheck(t *testing.T) {
	if err := planOf(2, 1, Operations...).Check(); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*Plan){
		"--seconds is NaN":                      func(p *Plan) { p.Seconds = math.NaN() },
		"--density is NaN":                      func(p *Plan) { p.Density = math.NaN() },
		"--density is 0 but":                    func(p *Plan) { p.Density = 0 },
		"--width is 0 but":                      func(p *Plan) { p.Width = 0 },
		"--rounds is 1000001 but":               func(p *Plan) { p.Rounds = 1_000_001 },
		"--repeat is 0 but":                     func(p *Plan) { p.Repeat = 0 },
		"pushpull needs a server":               func(p *Plan) { p.World.Servers = 0 },
		"size 2B is no multiple of the 4":       func(p *Plan) { p.Sizes[1] = 2 },
		"size 4KiB is given twice":              func(p *Plan) { p.Sizes[1] = 4096 },
		"size 16GiB is more than":               func(p *Plan) { p.Sizes[1] = 16 << 30 },
		"a row of --width 100, which is 400 by": func(p *Plan) { p.Sparse, p.Width = true, 100 },
	} {
		p := planOf(2, 1, Operations...)
		change(p)
		if err := p.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the plan is %v, want %q", err, want)
		}
	}
}

func TestCells(t *testing.T) {
	var got []string
	for _, c := range planOf(2, 1, Broadcast, Barrier).cells() {
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
	if got := planOf(2, 1, Barrier).buckets(); got != nil {
		t.Errorf("barriers need the buckets %v", got)
	}
	p := planOf(2, 1, AllReduce, Barrier)
	if d := cmp.Diff([]tensor.BucketSpec{{Elements: 1024}, {Index: 1, Elements: 1 << 18}}, p.buckets()); d != "" {
		t.Error(d)
	}
	p.Sparse = true
	if d := cmp.Diff(tensor.BucketSpec{Elements: 1024, Sparse: true, TableRows: 8, Width: 128, Capacity: 8}, p.buckets()[0]); d != "" {
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
		p := Plan{Rounds: c.rounds, Seconds: c.seconds, Repeat: c.repeat}
		if got := p.turnRounds(c.round); got != c.want {
			t.Errorf("%+v gives %d rounds", c, got)
		}
	}
}

func TestVolumes(t *testing.T) {
	const s = 64000.0 // more than what goes eagerly
	for name, c := range map[string]struct {
		trainers, servers int
		operation         Operation
		server            string
		place             Place
		want              volume
	}{
		"push-pull":                 {2, 1, PushPull, "average", InPlace, volume{2 * s, 4 * s, 4 * s}},
		"push-pull alone":           {1, 1, PushPull, "average", InPlace, volume{2 * s, 2 * s, 0}},
		"push-pull of four":         {4, 1, PushPull, "average", InPlace, volume{2 * s, 8 * s, 8 * s}},
		"two servers":               {4, 2, PushPull, "average", InPlace, volume{2 * s, 8 * s, 8 * s}},
		"copied":                    {2, 1, PushPull, "average", Copied, volume{2 * s, 4 * s, 12 * s}},
		"average_batch":             {4, 2, PushPull, "average_batch", InPlace, volume{2 * s, 8 * s, 8 * s}},
		"average_batch alone":       {1, 1, PushPull, "average_batch", InPlace, volume{2 * s, 2 * s, 0}},
		"another server":            {4, 1, PushPull, "other", Copied, volume{2 * s, 8 * s, 0}},
		"all-reduce":                {4, 0, AllReduce, "", InPlace, volume{s, 1.5 * s, 8 * s}},
		"all-reduce alone":          {1, 0, AllReduce, "", InPlace, volume{s, 0, 0}},
		"all-reduce copied":         {2, 0, AllReduce, "", Copied, volume{s, s, 12 * s}},
		"broadcast":                 {4, 0, Broadcast, "", InPlace, volume{s, s, 6 * s}},
		"barrier":                   {4, 0, Barrier, "", InPlace, volume{}},
		"a barrier copies nothing":  {4, 0, Barrier, "", Copied, volume{}},
		"collectives have no share": {4, 4, AllReduce, "average", InPlace, volume{s, 1.5 * s, 8 * s}},
	} {
		p := planOf(c.trainers, c.servers, c.operation)
		p.Server.Key = c.server
		size := int(s)
		if c.operation == Barrier {
			size = 0
		}
		if got := p.volumeOf(cell{operation: c.operation, place: c.place, size: size}); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func TestSparseVolumes(t *testing.T) {
	// 8 rows of 128 elements and a row number; half of them pushed.
	const pushed = 4 * 129 * 4.0
	for name, c := range map[string]struct {
		operation Operation
		want      volume
	}{
		"push-pull":  {PushPull, volume{alg: 2.5 * pushed, bus: 4 * 2.5 * pushed}}, // two trainers per server: 6 rows
		"all-reduce": {AllReduce, volume{alg: 1.875 * pushed, bus: 3 * pushed}},    // of four: 7.5 rows
		"broadcast":  {Broadcast, volume{alg: pushed, bus: pushed}},
	} {
		p := planOf(4, 2, c.operation)
		p.Sparse = true
		if got := p.volumeOf(cell{operation: c.operation, place: InPlace, size: 4096}); fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
