package sdk

import "time"

// Data provides the samples of a run. Data lives in a process of its own. The data's process loads
// the samples once and validates them against the model. The process then cuts batches in sample
// order and deals them round-robin to the trainers. The last batch may be short, unless the data
// cuts the batches itself.
type Data interface {
	// Load reads or generates all samples.
	Load() (*Samples, error)
}

// StreamedData is data that may be larger than memory: psbench reads every trainer's share again in
// each epoch. Before training starts, the host reads all data once, to validate and count the
// samples. Then the host calls Load, which returns only the held-out samples: a Samples value that
// is empty except for HeldOut. The host cuts batches of the run's batch size. If samples are
// missing or invalid in a later reading, the run ends.
type StreamedData interface {
	Data
	// Open returns a reader that begins at the first training sample. Several readers may be open at
	// once. All readers must return the same samples in the same order.
	Open() (SampleReader, error)
}

// SampleReader reads samples in order. Only one goroutine may use a SampleReader.
type SampleReader interface {
	// Read overwrites b with the next n samples and reuses its storage. Read reads fewer than n only
	// at the end, and returns io.EOF if no sample is left.
	Read(b *Batch, n int) error
	// Skip skips the next n samples, or the remaining ones if there are fewer.
	Skip(n int) error
	// Origin describes where a value of the last batch came from, like Samples.Origin.
	Origin(sample, position int) string
	Close() error
}

// FittedData is implemented by data that adapts to the run's model, such as generated data. Fit is
// called once, before Load. The argument of Fit holds the limits of the model's inputs, or of the
// tables that trainers look up.
type FittedData interface {
	Data
	Fit(in InputSpec)
}

// Samples is a list of samples in the form of Batch.
type Samples struct {
	Batch
	// Origin describes for error messages where a value of a sample came from, e.g. "train.csv, line
	// 3, column 7". Positions from 0 count the sample's indices and then its features. Position -1 is
	// the first target, -2 the second. Origin may be nil.
	Origin func(sample, position int) string
	// Batches is the number of samples in each batch, in order, for data that defines its own batches.
	// If Batches is nil, the run's batch size cuts the samples.
	Batches []int
	// HeldOut holds the samples on which the model is evaluated after each epoch. No trainer trains on
	// the held-out samples. HeldOut is nil if there are none.
	HeldOut *Samples
}

// Batch is a list of samples. Each sample has a bag of indices, a row of numbers, or both. The
// targets of a sample are one or more classes in Targets, or TargetWidth numbers in FloatTargets.
//
// Bag i is Indices[Offsets[i]:Offsets[i+1]]. Offsets starts at 0 and has one element more than
// there are samples; Offsets is empty if samples have no bags. The other lists are row-major.
// Features is [samples, numbers per sample], Targets is [samples, targets per sample] and
// FloatTargets is [samples, TargetWidth].
type Batch struct {
	Indices  []int64
	Offsets  []int64
	Features []float32
	Targets  []int64
	// FloatTargets replaces Targets if targets are numbers.
	FloatTargets []float32
	TargetWidth  int // numbers per sample in FloatTargets; 0 if targets are classes
}

// Size returns the number of samples.
func (b *Batch) Size() int {
	switch {
	case len(b.Offsets) > 0:
		return len(b.Offsets) - 1
	case b.TargetWidth > 0:
		return len(b.FloatTargets) / b.TargetWidth
	}
	return len(b.Targets)
}

// Bag returns the indices of sample i, as a view into b.
func (b *Batch) Bag(i int) []int64 { return b.Indices[b.Offsets[i]:b.Offsets[i+1]] }

// Append adds one sample that is a bag of indices. All samples must have the same number of
// targets.
func (b *Batch) Append(bag []int64, targets ...int64) {
	if len(b.Offsets) == 0 {
		b.Offsets = append(b.Offsets, 0)
	}
	b.Indices = append(b.Indices, bag...)
	b.Offsets = append(b.Offsets, int64(len(b.Indices)))
	b.Targets = append(b.Targets, targets...)
}

// DataEnv holds the facts about a run that its data part gets.
type DataEnv struct {
	Seed      uint64 // the run's --torch-seed
	Trainers  int    // the number of trainers that share the batches
	BatchSize int    // the run's --batch-size
	// Timeout limits every wait for another process, such as the writer of a pipe. Timeout is 0
	// outside a run.
	Timeout time.Duration
	// Criterion is the key of the run's criterion, and Wanted is the kind of targets that the
	// criterion takes. Every criterion accepts classes. If the criterion takes classes or numbers, and
	// all numbers are classes of the model, psbench converts them to classes.
	Criterion string
	Wanted    TargetKind
	// Recorder keeps only values that are recorded during a pass. Values recorded in Load are lost.
	Recorder *Recorder
}

// Batches are a rank's share of one epoch. Every epoch has the same batches in the same order. Only
// one goroutine may use the Batches.
type Batches interface {
	// Len returns the number of batches in an epoch.
	Len() int
	// Next returns the next batch. After the last batch of an epoch, Next returns the first batch
	// again. The batch is read-only memory: writing to it ends the process. The batch is valid until
	// the next call. If batches come from the data process, an error is a *comm.WaitError or a
	// *comm.PeerError, unless preprocessing failed.
	Next() (*Batch, error)
}

// NewBatches returns Batches that iterate over list.
func NewBatches(list []Batch) Batches { return &batchList{list: list} }

type batchList struct {
	list []Batch
	next int
}

func (b *batchList) Len() int { return len(b.list) }

func (b *batchList) Next() (*Batch, error) {
	batch := &b.list[b.next]
	b.next = (b.next + 1) % len(b.list)
	return batch, nil
}
