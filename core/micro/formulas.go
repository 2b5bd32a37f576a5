package micro

import (
	"math"

	"github.com/psbench/psbench/comm"
)

// volume is what one operation moves, in bytes. S is the size of a bucket, T the
// number of trainers.
type volume struct {
	// alg is what algbw counts, bus what busbw counts.
	alg, bus float64
	// moved is what an algorithm in shared memory reads plus what it writes, all
	// ranks together; 0 if that is not known.
	moved float64
}

// volumeOf is the volume of the operation of a cell. Trainers share servers
// evenly.
func (p *Plan) volumeOf(c cell) volume {
	trainers := float64(p.World.Trainers)
	pushed, reduced := p.gradientBytes(c)
	var v volume
	switch c.operation {
	case PushPull:
		v.alg = pushed + reduced
		v.bus = trainers * v.alg
	case AllReduce:
		v.alg = reduced
		v.bus = 2 * (trainers - 1) / trainers * pushed
		if p.Sparse {
			v.bus = (trainers - 1) * pushed
		}
	case Broadcast:
		v.alg, v.bus = pushed, pushed
	}
	if !p.Sparse {
		v.moved = p.moved(c)
	}
	return v
}

// gradientBytes is the size of a rank's gradient before an operation and after
// it. That of a sparse one is what is to be expected of rows chosen at random:
// each of its rows costs 4 bytes of row number beside its values.
func (p *Plan) gradientBytes(c cell) (pushed, reduced float64) {
	size := float64(c.size)
	if !p.Sparse {
		return size, size
	}
	trainers := p.World.Trainers
	if c.operation == PushPull {
		trainers /= p.World.Servers
	}
	table := size / float64(p.Width) * float64(p.Width+1)
	pushed, reduced = table*p.Density, table*(1-math.Pow(1-p.Density, float64(trainers)))
	if c.mode == Warm && c.operation != Broadcast {
		pushed = reduced // what the round before has left goes round again
	}
	return pushed, reduced
}

// moved counts the bytes that are read and written at least: a sum of two reads
// both and writes one; who answers in place writes one answer per trainer.
func (p *Plan) moved(c cell) float64 {
	size, trainers := float64(c.size), float64(p.World.Trainers)
	var moved float64
	switch c.operation {
	case PushPull:
		each := trainers / float64(p.World.Servers) // trainers of a server
		switch p.Server.Key {
		case "average", "average_batch":
			if each > 1 {
				moved = 2 * trainers * size
			}
		default:
			return 0
		}
	case AllReduce, Broadcast:
		if trainers == 1 {
			return 0 // it ends at once
		}
		switch {
		case c.operation == Broadcast:
			moved = 2 * (trainers - 1) * size
		case c.size <= comm.EagerBytes:
			moved = (trainers + 3) * trainers * size // each copies its own, reads all and writes the sum
		default:
			moved = 2 * trainers * size
		}
	}
	if c.place == Copied {
		moved += 4 * trainers * size // in and out, read and written
	}
	return moved
}

// received is what all ranks together receive from others in an operation on a
// transport that carries frames.
func (p *Plan) received(row *Row) float64 {
	trainers := float64(p.World.Trainers)
	c := cell{operation: row.Operation, size: row.Bytes, mode: row.Mode, place: row.Place}
	v := p.volumeOf(c)
	switch row.Operation {
	case PushPull:
		return v.bus
	case AllReduce:
		return trainers * v.bus
	default:
		return (trainers - 1) * v.bus
	}
}

// explanations of the columns, by operation: dense and sparse.
var explanations = map[Operation][2]string{
	PushPull: {
		"pushpull: algbw = 2S/p50, what one trainer pushes and pulls; busbw = T*algbw, what all do",
		"pushpull: algbw = (P+U)/p50, what one trainer pushes and pulls; busbw = T*algbw, what all do",
	},
	AllReduce: {
		"allreduce: algbw = S/p50; busbw = 2(T-1)/T*S/p50, what a member of a ring sends",
		"allreduce: algbw = U/p50; busbw = (T-1)*P/p50, what a member of a ring sends",
	},
	Broadcast: {
		"broadcast: algbw = busbw = S/p50; the root moves on with each round",
		"broadcast: algbw = busbw = P/p50; the root moves on with each round",
	},
}

// terms explains the letters of explanations, dense and sparse.
var terms = [2]string{
	"S is the size, T the number of trainers.",
	"P are the bytes of the rows that one rank pushes, U those of their union, T is the number of trainers.",
}

// Explanations of the other columns.
const (
	aboutUnits    = "p50, p95 and min are over all rounds of all ranks. GB = 10^9 bytes."
	shareOfMemory = "share on shm: bytes read plus written per second, over those of memcpy by all cores, source dirty, footprint T*S"
	movedPushPull = "  pushpull moves 2T*S with average and average_batch, if a server has two trainers or more"
	movedGroup    = "  allreduce moves 2T*S, up to 16 KiB (T+3)T*S, broadcast 2(T-1)*S"
	movedCopies   = "  copies out of the heap and back move 4T*S more"
	shareOfTCP    = "share on other transports: bytes received by all ranks over those of loopback TCP, T connections, both ways"
)
