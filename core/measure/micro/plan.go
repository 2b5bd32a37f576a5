// Package micro measures the data plane alone, on real plugin processes: one operation on one bucket, many times, in
// the manner of nccl-tests.
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

// Mode describes the contents of the gradients.
type Mode string

// Fresh gradients are written again before each round, and each round is verified. Warm gradients are zeros, which
// pass through rounds back to back, after one verified fresh round.
const (
	Fresh Mode = "fresh"
	Warm  Mode = "warm"
)

// Place says in which memory the gradients lie.
type Place string

// InPlace gradients lie in the transport's own memory. Copied gradients lie on the heap of their process.
const (
	InPlace Place = "inplace"
	Copied  Place = "copy"
)

// Places lists all places.
var Places = []Place{InPlace, Copied}

// Expect names the expected answer of a server, or the expected result of a hook.
type Expect string

// The expected answers. Part means that the server or the hook computes the answer in the measuring processes. Any
// accepts every answer.
const (
	Mean Expect = "mean"
	Sum  Expect = "sum"
	Part Expect = "part"
	Any  Expect = "any"
)

// Expects lists all answers.
var Expects = []Expect{Mean, Sum, Part, Any}

// Plan describes what to measure. Each operation, mode, place, element type, size and transport has one row.
type Plan struct {
	Operations []*bench.Operation
	Fabrics    []*fabric.Fabric // empty means the fastest that joins the hosts
	Modes      []Mode
	Places     []Place
	Sizes      []int         // bucket sizes in bytes
	Types      []tensor.Type // element types; if empty, float32

	// Sparse makes every bucket a table whose rows have Width elements. Each rank pushes the share Density of the rows
	// in every round.
	Sparse  bool
	Width   int
	Density float64

	World       config.World
	ServerPlace placement.Policy
	Affinity    placement.Affinity // "" means none
	Aggregate   bool               // trainers that share a host, but not the server's host, push as one
	Server      config.Part        // the server of push-pull
	Expect      Expect             // the expected answer of the server

	Hook       config.Part // the hook of the hook operation
	HookLinks  registry.Links
	HookExpect Expect
	Seed       uint64

	// Rounds is the number of rounds of a row; 0 means as many rounds as fit into Seconds. Repeat is the number of
	// turns that share the rounds.
	Rounds  int
	Seconds float64
	Repeat  int

	Limits  bool // also measure the machine's limits
	Timeout time.Duration
	Listen  string // IP address for transports that need one
	// ListenName is the address as the user gave it, for example in --listen. It is "" if the user gave no address.
	ListenName string
	// Warnings holds warnings about how psbench was started.
	Warnings []string
	// InsecureNetwork disables TLS on links between hosts.
	InsecureNetwork bool
}

// Limits on the values that a user can ask for.
const (
	maxRounds  = 1_000_000
	maxSeconds = 3600
	maxRepeat  = 1000
	maxWidth   = 1 << 20
)

// Check returns an error that describes what is wrong with the plan. The error uses the names of the command line's
// flags.
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
	if err := p.checkTypes(); err != nil {
		return err
	}
	return p.checkSizes()
}

// types returns the element types that take turns.
func (p *Plan) types() []tensor.Type {
	if len(p.Types) == 0 {
		return []tensor.Type{tensor.Float32}
	}
	return p.Types
}

func (p *Plan) checkTypes() error {
	for _, t := range p.types() {
		if p.Sparse && !t.Is32() {
			return fmt.Errorf("--dtype is %s, but --sparse has no form for it: rows of a table are %s", t, tensor.Float32)
		}
		for _, o := range p.Operations {
			if !o.Empty && !slices.Contains(o.Types, t) {
				return fmt.Errorf("--dtype is %s, which %s does not carry: its types are %s", t, o.Name,
					tensor.JoinTypes(o.Types))
			}
		}
	}
	return nil
}

func (p *Plan) checkSizes() error {
	unit := 4
	for _, t := range p.Types {
		unit = max(unit, t.Bytes())
	}
	what := fmt.Sprintf("the %d bytes of an element", unit)
	if slices.ContainsFunc(p.Types, func(t tensor.Type) bool { return t.Bytes() < unit }) {
		what = fmt.Sprintf("%d bytes, in which buckets of these types are laid out", unit)
	}
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

// some reports whether at least one operation of the plan meets a condition.
func (p *Plan) some(condition func(*bench.Operation) bool) bool {
	return slices.ContainsFunc(p.Operations, condition)
}

// serves reports whether servers take part.
func (p *Plan) serves() bool { return p.some(served) || p.some(hooked) && p.HookLinks.Server }

func served(o *bench.Operation) bool     { return o.Served }
func hooked(o *bench.Operation) bool     { return o.Hooked }
func collective(o *bench.Operation) bool { return !o.Served && !o.Hooked }
func moving(o *bench.Operation) bool     { return !o.Empty }

// buckets returns the buckets of every rank, one for each type and size. If no operation moves a bucket, it returns
// none.
func (p *Plan) buckets() []tensor.BucketSpec {
	if !p.some(moving) {
		return nil
	}
	var specs []tensor.BucketSpec
	for _, t := range p.types() {
		for _, size := range p.Sizes {
			spec := tensor.BucketSpec{Index: len(specs), Elements: size / t.Bytes()}
			if !t.Is32() {
				spec.Type = t
			}
			if p.Sparse {
				rows := size / 4 / p.Width
				spec.Sparse, spec.TableRows, spec.Width, spec.Capacity = true, rows, p.Width, rows
			}
			specs = append(specs, spec)
		}
	}
	return specs
}

// cell is one row of the measurement, which each transport measures.
type cell struct {
	operation *bench.Operation
	mode      Mode
	place     Place
	bucket    int
	dtype     tensor.Type
	size      int // in bytes; 0 if the operation moves no bucket
}

// cells lists the rows that each transport measures, in order.
func (p *Plan) cells() []cell {
	var cells []cell
	for _, operation := range p.Operations {
		for _, mode := range p.Modes {
			if operation.Empty {
				cells = append(cells, cell{operation: operation, mode: mode, place: InPlace})
				continue
			}
			for _, place := range p.Places {
				for i, t := range p.types() {
					for k, size := range p.Sizes {
						cells = append(cells, cell{operation, mode, place, i*len(p.Sizes) + k, t, size})
					}
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
	size := bytesize.Format(c.size)
	if !c.dtype.Is32() {
		size += " of " + c.dtype.String()
	}
	return fmt.Sprintf("%s of %s, %s, %s", c.operation.Name, size, c.mode, c.place)
}

// The choice of the number of rounds if the user gives a time. A pilot, which is not recorded, shows how many rounds
// fit.
const (
	pilotRounds = 5
	leastRounds = 20
	mostRounds  = 3000
)

// turnRounds returns the number of rounds in each turn of a row. round is the duration of one round with its overhead.
func (p *Plan) turnRounds(round time.Duration) int {
	rounds := p.Rounds
	if rounds == 0 {
		fit := p.Seconds / max(round.Seconds(), 1e-9)
		rounds = int(min(max(fit, leastRounds), mostRounds))
	}
	return (rounds + p.Repeat - 1) / p.Repeat
}

// volumeOf returns the bytes that the operation of a cell moves.
func (p *Plan) volumeOf(c cell) bench.Volume {
	return c.operation.VolumeOf(bench.Case{
		Trainers: p.World.Trainers, Servers: p.World.Servers, Elementwise: p.Server.Elementwise,
		Bytes: c.size, Sparse: p.Sparse, Width: p.Width, Density: p.Density,
		Warm: c.mode == Warm, Copied: c.place == Copied,
	})
}
