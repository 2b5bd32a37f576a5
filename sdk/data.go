package sdk

import "time"

// Data provides the samples of a run. It lives in a process of its own, which
// loads once, validates against the model, cuts batches in sample order (the
// last one may be short, unless the data cuts them itself) and partitions them among the
// trainers, round-robin.
type Data interface {
	// Load reads or generates all samples.
	Load() (*Samples, error)
}

// StreamedData is data that may be larger than memory: every trainer's share is read anew
// in each epoch. The host first reads all of it once, which finds what is wrong with it
// before training starts and counts the samples; then it calls Load, which returns only
// what is held out: Samples that are empty but for HeldOut. The run's batch size cuts the
// batches. Samples that are missing or not valid later on end the run.
type StreamedData interface {
	Data
	// Open begins at the first sample that is trained on. Several readers may be open at
	// once; each gives the same samples in the same order.
	Open() (SampleReader, error)
}

// SampleReader reads samples in order. It serves one goroutine.
type SampleReader interface {
	// Read overwrites b, whose storage it uses again, with the next samples: n of them,
	// fewer only at the end, and io.EOF where none is left.
	Read(b *Batch, n int) error
	// Skip passes over the next n samples, or those that are left.
	Skip(n int) error
	// Origin says where a value of the batch that Read read last came from, as
	// Samples.Origin does.
	Origin(sample, position int) string
	Close() error
}

// FittedData is implemented by data that is made to what the run takes. Fit is called
// once, before Load, with the limits of the model or of the tables that are looked up.
type FittedData interface {
	Data
	Fit(in InputSpec)
}

// Samples is a list of samples in the form of Batch.
type Samples struct {
	Batch
	// Origin says where a value of a sample came from, for error messages, e.g.
	// "train.csv, line 3, column 7". Positions from 0 are the sample's indices and
	// then its features, -1 is its first target, -2 the second. It may be nil.
	Origin func(sample, position int) string
	// Batches is the number of samples in each batch, in order, for data that
	// comes in batches of its own; nil where the run's batch size cuts them.
	Batches []int
	// HeldOut are samples that no trainer trains on: the model is evaluated on them
	// after each epoch. nil: none.
	HeldOut *Samples
}

// Batch is a list of samples, each a bag of indices, or a row of numbers, or both, with its targets:
// one class or more in Targets, or TargetWidth numbers in FloatTargets. Bag i is Indices[Offsets[i]:Offsets[i+1]];
// Offsets has one element more than there are samples and starts at 0, or is empty where
// samples have no bags. Features is [samples, numbers of a sample], row-major, Targets
// [samples, targets of a sample] and FloatTargets [samples, TargetWidth].
type Batch struct {
	Indices  []int64
	Offsets  []int64
	Features []float32
	Targets  []int64
	// FloatTargets are targets that are numbers, in the place of Targets.
	FloatTargets []float32
	TargetWidth  int // of FloatTargets; 0: targets are classes
}

// Size is the number of samples: bags where there are bags, else targets.
func (b *Batch) Size() int {
	switch {
	case len(b.Offsets) > 0:
		return len(b.Offsets) - 1
	case b.TargetWidth > 0:
		return len(b.FloatTargets) / b.TargetWidth
	}
	return len(b.Targets)
}

// Bag is the bag of indices of sample i.
func (b *Batch) Bag(i int) []int64 { return b.Indices[b.Offsets[i]:b.Offsets[i+1]] }

// Append adds one sample that is a bag of indices. Every sample needs as many targets.
func (b *Batch) Append(bag []int64, targets ...int64) {
	if len(b.Offsets) == 0 {
		b.Offsets = append(b.Offsets, 0)
	}
	b.Indices = append(b.Indices, bag...)
	b.Offsets = append(b.Offsets, int64(len(b.Indices)))
	b.Targets = append(b.Targets, targets...)
}

// DataEnv is what a data part knows of its run.
type DataEnv struct {
	Seed      uint64 // the run's --torch-seed
	Trainers  int    // that the batches are partitioned among, round-robin
	BatchSize int    // the run's --batch-size
	// Timeout bounds every wait for another process, as for who writes to a pipe; 0 where there is no run.
	Timeout time.Duration
	// Criterion is the run's, and Wanted what it takes as targets. Data that has classes may give
	// them to any. Numbers that are all classes of the model psbench makes classes where the criterion
	// takes either.
	Criterion string
	Wanted    TargetKind
	// Recorder forgets what is recorded before a pass, as while Load works.
	Recorder *Recorder
}

// Batches are a rank's share of one epoch: the same batches, in the same order, in every
// epoch. They serve one goroutine.
type Batches interface {
	// Len is how many batches an epoch has.
	Len() int
	// Next returns the next batch; after the last one of an epoch comes the first again.
	// The batch lies where writing ends the process. It stays until the next call. The
	// error of batches that come from the data process is a *comm.WaitError or a
	// *comm.PeerError, unless preprocessing them failed.
	Next() (*Batch, error)
}

// NewBatches makes a share of batches in memory.
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
