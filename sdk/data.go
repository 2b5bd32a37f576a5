package sdk

import "time"

// Data provides the samples of a run. It lives in a process of its own. That process loads the
// samples once, validates them against the model, cuts batches in sample order, and partitions
// the batches among the trainers, round-robin. The last batch may be short, unless the data
// cuts the batches itself.
type Data interface {
	// Load reads or generates all samples.
	Load() (*Samples, error)
}

// StreamedData is data that may be larger than memory: psbench reads every trainer's share anew
// in each epoch. Before training starts, the host reads all data once, to validate and count the
// samples. Then it calls Load, which returns only the held-out samples: Samples that are empty
// but for HeldOut. The run's batch size cuts the batches. If samples are missing or invalid in a
// later reading, the run ends.
type StreamedData interface {
	Data
	// Open returns a reader that begins at the first training sample. Several readers may be
	// open at once; all give the same samples in the same order.
	Open() (SampleReader, error)
}

// SampleReader reads samples in order. It serves one goroutine.
type SampleReader interface {
	// Read overwrites b with the next n samples and reuses its storage. It reads fewer only at
	// the end, and returns io.EOF if no sample is left.
	Read(b *Batch, n int) error
	// Skip passes over the next n samples, or over the remaining ones if they are fewer.
	Skip(n int) error
	// Origin describes where a value of the last batch came from, as Samples.Origin does.
	Origin(sample, position int) string
	Close() error
}

// FittedData is implemented by data that adapts to the run's model, such as generated data. Fit
// is called once, before Load, with the limits of the model or of the tables that are looked up.
type FittedData interface {
	Data
	Fit(in InputSpec)
}

// Samples is a list of samples in the form of Batch.
type Samples struct {
	Batch
	// Origin describes for error messages where a value of a sample came from, e.g.
	// "train.csv, line 3, column 7". Positions from 0 are the sample's indices and
	// then its features, -1 is its first target, -2 the second. Origin may be nil.
	Origin func(sample, position int) string
	// Batches is the number of samples in each batch, in order, for data that
	// comes in batches of its own. nil: the run's batch size cuts them.
	Batches []int
	// HeldOut are the samples on which the model is evaluated after each epoch. No trainer
	// trains on them. nil: there are none.
	HeldOut *Samples
}

// Batch is a list of samples. Each sample is a bag of indices, or a row of numbers, or both. Its
// targets are one class or more in Targets, or TargetWidth numbers in FloatTargets.
//
// Bag i is Indices[Offsets[i]:Offsets[i+1]]. Offsets starts at 0 and has one element more than
// there are samples; it is empty if samples have no bags. The other lists are row-major: Features
// is [samples, numbers of a sample], Targets [samples, targets of a sample] and FloatTargets
// [samples, TargetWidth].
type Batch struct {
	Indices  []int64
	Offsets  []int64
	Features []float32
	Targets  []int64
	// FloatTargets replaces Targets if targets are numbers.
	FloatTargets []float32
	TargetWidth  int // of FloatTargets; 0: targets are classes
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

// Append adds one sample that is a bag of indices. All samples need equally many targets.
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
	// Timeout bounds every wait for another process, such as the writer of a pipe. It is 0 outside
	// of a run.
	Timeout time.Duration
	// Criterion is the key of the run's criterion and Wanted the kind of targets that it takes.
	// Every criterion accepts classes. If the criterion takes classes or numbers, and all numbers
	// are classes of the model, psbench converts them to classes.
	Criterion string
	Wanted    TargetKind
	// Recorder keeps only values that are recorded during a pass: those of Load are lost.
	Recorder *Recorder
}

// Batches are a rank's share of one epoch: the same batches, in the same order, in every
// epoch. They serve one goroutine.
type Batches interface {
	// Len returns the number of batches in an epoch.
	Len() int
	// Next returns the next batch; after the last one of an epoch comes the first again.
	// The batch is read-only memory: writing to it ends the process. It is valid until the next
	// call. If batches come from the data process, an error is a *comm.WaitError or a
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
