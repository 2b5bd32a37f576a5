// Package record defines the record of a process in a pass, in the pieces that the process sends to
// the core.
package record

import (
	"fmt"
	"strings"

	"github.com/psbench/psbench/internal/metric"
	"github.com/psbench/psbench/internal/packed"
)

// Pass identifies the pass in which values were recorded.
type Pass int

// The passes. NoPass stands for values outside a pass.
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

// Send sends a piece to the core. An error means that the core is gone.
type Send func(Piece) error

// SendAll sends pieces of one kind until the core is gone.
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

// Series is a part of a metric series. A long series is sent in several pieces.
type Series struct {
	Type, Name   string
	Measurements packed.Chunk[packed.Measurement]
}

// Counter is the value of a counter metric.
type Counter struct {
	metric.Head
	Value int64
}

// Gauge holds observed values of a gauge metric. A long list is sent in several pieces.
type Gauge struct {
	metric.Head
	Observations packed.Chunk[packed.Observation]
}

// Histogram is the distribution of observed values.
type Histogram struct {
	metric.Head
	metric.Histogram
}

// Facts are facts that parts report after the pass.
type Facts map[string]string

// FactBuckets is the fact that says how buckets move to and from device memory. BucketsShared means
// that links use the buckets in device memory. BucketsLeft means that a library reduces the buckets
// across devices; FactGroup then names the library. Any other value says why buckets are staged
// through host memory.
const (
	FactBuckets   = "buckets"
	BucketsShared = "shared on the device"
	BucketsLeft   = "left on the devices of the group"
	FactGroup     = "group"
)

// Losses are the losses of finished iterations. A long list is sent in several pieces.
type Losses []float64

// Iterations counts the iterations that a trainer has finished in a pass.
type Iterations struct {
	Pass Pass
	Done int64
	Loss float64 // loss of the last iteration
}

// Work is a trainer's work in a pass so far.
type Work struct {
	StartNS     int64 // start of the first iteration
	EndNS       int64 // end of the pass, or of its last finished iteration
	EvaluatedNS int64 // time spent on held-out samples in between
	Samples     int64 // samples in finished iterations
}

// NonFinite records NaN and infinite values that were found in a pass.
type NonFinite struct {
	Epoch, Batch int64 // iteration with the first non-finite loss
	Loss         float64
	Losses       int64  // number of non-finite losses; if 0, ignore Epoch, Batch and Loss
	Parameter    string // first non-finite parameter, after that iteration or at the end
	Gradient     string // first non-finite gradient, after that iteration
}

// Replica describes a trainer's parameters after a pass. Equal replicas have equal checksums.
type Replica struct {
	Checksums []uint32 // by parameter
}

// Evaluation is a trainer's result on its held-out samples after an epoch.
type Evaluation struct {
	Epoch   int
	Samples int
	LossSum float64 // sum over the samples
	Correct *int    // for a classifier: samples whose target has the largest output
	// Bins describe the outputs of a binary classifier: how many samples of each class fall into each
	// non-empty bin. Bins with larger numbers hold larger outputs.
	Bins []Bin
}

// Bin counts samples of each class with similar outputs.
type Bin struct {
	Bin                  int32
	Positives, Negatives int64
}

// Summary describes how training changed a parameter.
type Summary struct {
	Name                 string
	Elements             int
	DeltaSum, DeltaSumSq float64
	DeltaHead, Head      []float64 // first elements: their change and their value
}

// PeakRSS is a process's peak memory use in bytes.
type PeakRSS int64

// FutureMetric is the type of the series that say how long a hook's operations take. Keys are
// {batch},{bucket}.
const FutureMetric = "hook_future_metric"

// roundSeries begins the names of a planned operation's series.
const roundSeries = "round "

// RoundSeries names the series of an operation of a traffic plan, such as "round 1 allreduce int8".
func RoundSeries(round int, operation string) string {
	return fmt.Sprintf("%s%d %s", roundSeries, round, operation)
}

// OfRound reports whether a series has the times of an operation of a traffic plan.
func OfRound(typ, name string) bool {
	return typ == FutureMetric && strings.HasPrefix(name, roundSeries)
}

// HookMetric is the type of the series that say how long a hook has a bucket before it first calls
// a link for it. Keys are {batch},{bucket}. If a hook calls no link, the time ends when the bucket
// is reduced.
const HookMetric = "hook_time_metric"

// The series of HookMetric. For one bucket, their times do not overlap.
const (
	// HookBlocking is the time within Reduce on the trainer's own goroutine.
	HookBlocking = "hook blocking"
	// HookBeside is the time during which the trainer continues, or waits for its reductions.
	HookBeside = "hook beside"
)
