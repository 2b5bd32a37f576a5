// Package micro measures the data plane by itself, on real plugin processes: one
// operation on one bucket, many times, in the manner of nccl-tests.
package micro

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/core/host/placement"
	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/internal/bytesize"
	"github.com/psbench/psbench/internal/comm/bench"
	"github.com/psbench/psbench/internal/comm/fabric"
)

// Mode is what the gradients hold.
type Mode string

// Fresh gradients are written anew before each round, and each round is verified.
// Warm ones are zeros that go round and round, back to back; a fresh round that is
// verified leads in to them.
const (
	Fresh Mode = "fresh"
	Warm  Mode = "warm"
)

// Place is where the gradients live.
type Place string

// InPlace gradients live where the transport wants them. Copied ones live on the
// heap of their process.
const (
	InPlace Place = "inplace"
	Copied  Place = "copy"
)

// Places lists all places.
var Places = []Place{InPlace, Copied}

// Expect is what a server answers, or a hook leaves.
type Expect string

// The answers that can be verified, that of Part as the server or the hook itself says it in the
// processes that measure; and any other.
const (
	Mean Expect = "mean"
	Sum  Expect = "sum"
	Part Expect = "part"
	Any  Expect = "any"
)

// Expects lists all answers.
var Expects = []Expect{Mean, Sum, Part, Any}

// Plan is what to measure: a row for each operation, mode, place, size and
// transport.
type Plan struct {
	Operations []*bench.Operation
	Fabrics    []*fabric.Fabric // none: the fastest between the hosts that there are
	Modes      []Mode
	Places     []Place
	Sizes      []int // of the buckets, in bytes

	// Sparse makes every bucket a table of rows of Width elements, of which each
	// rank pushes the share Density in a round.
	Sparse  bool
	Width   int
	Density float64

	World       config.World
	ServerPlace placement.Policy
	Affinity    placement.Affinity // "" is none
	Aggregate   bool               // trainers of a host other than the server's push as one
	Server      config.Part        // of push-pull
	Expect      Expect             // of the server

	Hook       config.Part // of the hook operation
	HookLinks  registry.Links
	HookExpect Expect
	Seed       uint64

	// Rounds of a row; 0 for as many as fit into Seconds. Repeat is the number
	// of turns in which they are measured.
	Rounds  int
	Seconds float64
	Repeat  int

	Limits  bool // measure the machine's limits too
	Timeout time.Duration
	Listen  string // IP address, where a transport uses one
	// ListenName is how the user gave it, as in --listen; "" where nobody did.
	ListenName string
	// Warnings are of how psbench was started.
	Warnings []string
	// InsecureNetwork leaves out TLS where links go between hosts.
	InsecureNetwork bool
}

// Bounds of what can be asked for.
const (
	maxRounds  = 1_000_000
	maxSeconds = 3600
	maxRepeat  = 1000
	maxWidth   = 1 << 20
)

// Check says what is wrong with the plan, in the words of the command line.
func (p *Plan) Check() error {
	switch {
	case p.Width < 1 || p.Width > maxWidth:
		return fmt.Errorf("--width is %d but must be from 1 to %d elements", p.Width, maxWidth)
	case !(p.Density > 0 && p.Density <= 1):
		return fmt.Errorf("--density is %v but must be above 0 and at most 1", p.Density)
	case p.Rounds < 0 || p.Rounds > maxRounds:
		return fmt.Errorf("--rounds is %d but must be from 1 to %d", p.Rounds, maxRounds)
	case !(p.Seconds > 0 && p.Seconds <= maxSeconds):
		return fmt.Errorf("--seconds is %v but must be above 0 and at most %d", p.Seconds, maxSeconds)
	case p.Repeat < 1 || p.Repeat > maxRepeat:
		return fmt.Errorf("--repeat is %d but must be from 1 to %d", p.Repeat, maxRepeat)
	}
	for _, f := range p.Fabrics {
		if p.Aggregate && !f.Aggregates() {
			return fmt.Errorf("--aggregate is host but transport %s cannot: it needs %s, on which the trainers of a host share memory",
				f.Name, fabric.DefaultAcross().Name)
		}
	}
	for _, o := range p.Operations {
		switch {
		case o.Served && p.World.Servers == 0:
			return fmt.Errorf("%s needs a server, but --nserver is 0", o.Name)
		case o.Hooked && p.Hook.Key == "":
			return fmt.Errorf("%s needs a hook, but --ddp-hook is not given", o.Name)
		case o.Hooked && p.Hook.Protocol && slices.Contains(p.Places, Copied):
			return fmt.Errorf("hook %s speaks the protocol, so that its buckets lie where both processes map them: leave --place %s out",
				p.Hook.Key, Copied)
		case o.Dense && p.Sparse:
			return fmt.Errorf("%s has no form for --sparse: rows of a table are not scattered", o.Name)
		}
	}
	return p.checkSizes()
}

func (p *Plan) checkSizes() error {
	unit, what := 4, "the 4 bytes of an element"
	if p.Sparse {
		unit = 4 * p.Width
		what = fmt.Sprintf("a row of --width %d, which is %d bytes", p.Width, unit)
	}
	for i, size := range p.Sizes {
		switch {
		case size < unit || size%unit != 0:
			return fmt.Errorf("size %s is no multiple of %s", bytesize.Format(size), what)
		case size/4 > math.MaxInt32:
			return fmt.Errorf("size %s is more than the %d elements that a bucket can have", bytesize.Format(size),
				math.MaxInt32)
		case slices.Contains(p.Sizes[:i], size):
			return fmt.Errorf("size %s is given twice", bytesize.Format(size))
		}
	}
	return nil
}

// some says whether an operation of the plan is such.
func (p *Plan) some(such func(*bench.Operation) bool) bool {
	return slices.ContainsFunc(p.Operations, such)
}

// serves says whether servers take part.
func (p *Plan) serves() bool { return p.some(served) || p.some(hooked) && p.HookLinks.Server }

func served(o *bench.Operation) bool     { return o.Served }
func hooked(o *bench.Operation) bool     { return o.Hooked }
func collective(o *bench.Operation) bool { return !o.Served && !o.Hooked }
func moving(o *bench.Operation) bool     { return !o.Empty }

// buckets are those of every rank: one per size, if an operation moves any.
func (p *Plan) buckets() []tensor.BucketSpec {
	if !p.some(moving) {
		return nil
	}
	specs := make([]tensor.BucketSpec, len(p.Sizes))
	for i, size := range p.Sizes {
		specs[i] = tensor.BucketSpec{Index: i, Elements: size / 4}
		if p.Sparse {
			rows := size / 4 / p.Width
			specs[i].Sparse, specs[i].TableRows, specs[i].Width, specs[i].Capacity = true, rows, p.Width, rows
		}
	}
	return specs
}

// cell is a row of each transport.
type cell struct {
	operation *bench.Operation
	mode      Mode
	place     Place
	bucket    int
	size      int // bytes; 0 where no bucket moves
}

// cells lists what each transport measures, in order.
func (p *Plan) cells() []cell {
	var cells []cell
	for _, operation := range p.Operations {
		for _, mode := range p.Modes {
			if operation.Empty {
				cells = append(cells, cell{operation: operation, mode: mode, place: InPlace})
				continue
			}
			for _, place := range p.Places {
				for i, size := range p.Sizes {
					cells = append(cells, cell{operation, mode, place, i, size})
				}
			}
		}
	}
	return cells
}

func (c cell) String() string {
	if c.operation.Empty {
		return fmt.Sprintf("%s, %s", c.operation.Name, c.mode)
	}
	return fmt.Sprintf("%s of %s, %s, %s", c.operation.Name, bytesize.Format(c.size), c.mode, c.place)
}

// How many rounds a row has if the user gives a time: a pilot, which does not
// count, tells how many fit.
const (
	pilotRounds = 5
	leastRounds = 20
	mostRounds  = 3000
)

// turnRounds is how many rounds each turn of a row has, when a round takes this
// long with everything around it.
func (p *Plan) turnRounds(round time.Duration) int {
	rounds := p.Rounds
	if rounds == 0 {
		fit := p.Seconds / max(round.Seconds(), 1e-9)
		rounds = int(min(max(fit, leastRounds), mostRounds))
	}
	return (rounds + p.Repeat - 1) / p.Repeat
}

// volumeOf is what the operation of a cell moves.
func (p *Plan) volumeOf(c cell) bench.Volume {
	return c.operation.VolumeOf(bench.Case{
		Trainers: p.World.Trainers, Servers: p.World.Servers, Elementwise: p.Server.Elementwise,
		Bytes: c.size, Sparse: p.Sparse, Width: p.Width, Density: p.Density,
		Warm: c.mode == Warm, Copied: c.place == Copied,
	})
}
