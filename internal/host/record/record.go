// Package record is what a process recorded in a pass, in the pieces in which the core
// gets it.
package record

import (
	"github.com/psbench/psbench/internal/metric"
	"github.com/psbench/psbench/internal/packed"
)

// Pass identifies the pass in which values were recorded.
type Pass int

// The passes. NoPass stands for values outside of a pass.
const (
	NoPass Pass = iota
	WarmUp
	Measured
)

// Piece is a part of a record: a *Series, *Counter, *Gauge, *Histogram, Facts, Losses, *Work, an
// *Evaluation, *NonFinite, a *Replica, a *Summary, an *Exchange, a *Checked or PeakRSS.
type Piece interface{ piece() }

func (*Series) piece()     {}
func (*Counter) piece()    {}
func (*Gauge) piece()      {}
func (*Histogram) piece()  {}
func (Facts) piece()       {}
func (Losses) piece()      {}
func (*Work) piece()       {}
func (*Evaluation) piece() {}
func (*NonFinite) piece()  {}
func (*Replica) piece()    {}
func (*Summary) piece()    {}
func (*Exchange) piece()   {}
func (*Checked) piece()    {}
func (PeakRSS) piece()     {}

// Send passes a piece on to the core. Its error is that the core is gone.
type Send func(Piece) error

// SendAll sends pieces of one kind, as long as the core is there.
func SendAll[T any, P interface {
	*T
	Piece
}](send Send, pieces []T) error {
	for i := range pieces {
		if err := send(P(&pieces[i])); err != nil {
			return err
		}
	}
	return nil
}

// Series is a part of a metric series; a long one comes in several pieces.
type Series struct {
	Type, Name   string
	Measurements packed.Chunk[packed.Measurement]
}

// Counter is what was counted.
type Counter struct {
	metric.Head
	Value int64
}

// Gauge is a part of what was observed; much comes in several pieces.
type Gauge struct {
	metric.Head
	Observations packed.Chunk[packed.Observation]
}

// Histogram is how values were distributed.
type Histogram struct {
	metric.Head
	metric.Histogram
}

// Facts are what parts knew after the pass.
type Facts map[string]string

// FactBuckets is the fact of how buckets travel to and from the memory of a device: BucketsShared, BucketsLeft
// where a library reduces them across devices, which FactGroup names then, or why they are staged through that of
// the host.
const (
	FactBuckets   = "buckets"
	BucketsShared = "shared on the device"
	BucketsLeft   = "left on the devices of the group"
	FactGroup     = "group"
)

// Losses are the losses of finished iterations, in several pieces if there are many.
type Losses []float64

// Iterations are those that a trainer has done in a pass.
type Iterations struct {
	Pass Pass
	Done int64
	Loss float64 // of the last one
}

// Work is what a trainer did in a pass so far.
type Work struct {
	StartNS     int64 // of the first iteration
	EndNS       int64 // of the pass, or of the last iteration that ended in it
	EvaluatedNS int64 // of the time between, spent on held-out samples
	Samples     int64 // of the iterations that ended
}

// NonFinite is what was found of NaN and infinite values in a pass.
type NonFinite struct {
	Epoch, Batch int64 // the iteration with the first such loss
	Loss         float64
	Losses       int64  // how many there are; 0: Epoch, Batch and Loss mean nothing
	Parameter    string // the first with such a value, after that iteration or at the end
	Gradient     string // the first with such a value, after that iteration
}

// Replica is what a trainer's parameters are after a pass: those of equal replicas are equal.
type Replica struct {
	Checksums []uint32 // by parameter
}

// Evaluation is what a trainer found on its held-out samples after an epoch.
type Evaluation struct {
	Epoch   int
	Samples int
	LossSum float64 // over the samples
	Correct *int    // of a classifier: samples whose target has the largest output
	// Of a binary classifier: how many samples of each class have an output in each bin
	// that is not empty; a larger bin has larger outputs.
	Bins []Bin
}

// Bin counts the samples of each class with about the same output.
type Bin struct {
	Bin                  int32
	Positives, Negatives int64
}

// Summary is what training changed in a parameter.
type Summary struct {
	Name                 string
	Elements             int
	DeltaSum, DeltaSumSq float64
	DeltaHead, Head      []float64 // of the first elements: the change, the value
}

// PeakRSS is the most memory, in bytes, that a process has had.
type PeakRSS int64

// HookMetric is the type of the series that say how long a hook has a bucket before it first calls a
// link for it, each keyed {batch},{bucket}. A hook that calls none has it until the bucket is reduced.
const HookMetric = "hook_time_metric"

// The series of HookMetric. They do not overlap for a bucket.
const (
	// HookBlocking is the time within Reduce, on the trainer's own goroutine.
	HookBlocking = "hook blocking"
	// HookBeside is the time in which the trainer goes on meanwhile, or waits for its reductions.
	HookBeside = "hook beside"
)
