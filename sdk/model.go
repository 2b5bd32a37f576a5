package sdk

import (
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk/engine"
)

// ParameterSpec describes one parameter tensor of a model.
type ParameterSpec struct {
	Name  string
	Shape []int
	// Sparse says that the gradient is a list of rows of a [rows, width] table.
	Sparse bool
}

// InputSpec describes the samples that a model accepts. psbench validates the data against it
// before training starts.
type InputSpec struct {
	// Rows bounds the indices of a bag: 0 <= index < Rows. 0: there are no bags.
	Rows int
	// Features is how many numbers each sample has.
	Features int
	// Classes bounds the targets: 0 <= target < Classes.
	Classes int
	// Targets is how many targets each sample has; 0 counts as 1.
	Targets int
	// Outputs is how many columns the output has, one for each number of a target that consists of
	// numbers. 0: unknown; then only the criterion detects a mismatch.
	Outputs int
	// Tables are the numbers of rows of the embedding tables if there are several; then Rows is 0.
	// Every bag has one index for each table, in order: 0 <= bag[k] < Tables[k].
	Tables []int
	// LookedUp is how many of the Features, the last ones, are rows of embedding tables
	// that a trainer looks up for the model, one row of each of the Tables. The data then
	// has the indices, and Features-LookedUp numbers.
	LookedUp int
	// BagLength is how many indices every bag has if Rows is above 0. 0: any number. EquallyLong:
	// any number, but equally many in all bags of a batch.
	BagLength int
}

// EquallyLong is the InputSpec.BagLength of a model that takes the bags of a batch as a matrix.
const EquallyLong = -1

// Model computes outputs and gradients. The host owns the parameters and the gradients, and hands
// them over once, by Bind. The model reads the parameters and writes the gradients.
//
// The order of calls is Parameters, Inputs, Bind, then Initialize for each pass, and Forward and
// Backward for each iteration.
//
// The memory of the process's engine holds parameters, the values of gradients, outputs and their
// gradients. Ordinary memory holds batches, the rows of sparse gradients, features and their
// gradient.
type Model interface {
	// Parameters lists the tensors in registration order.
	Parameters() []ParameterSpec
	// Inputs returns the limits of the input.
	Inputs() InputSpec
	// Bind hands over the storage of parameter k: values[k] has its shape;
	// gradients[k] has as many values when dense, and the run's row capacity
	// when sparse. The model must write into this storage and may not replace it.
	// SetRows sets the number of rows of a sparse gradient.
	Bind(values []tensor.Tensor, gradients []*tensor.Gradient) error
	// Initialize writes the initial values, a pure function of the seed. If it fails, for example
	// to copy into the engine's memory, the next Forward returns the error.
	Initialize(seed uint64)
	// Forward returns the output for a batch, [b.Size(), classes]. The tensor
	// belongs to the model and is valid until the next Forward. The batch is read-only memory:
	// writing to it ends the process.
	Forward(b *Batch) (tensor.Tensor, error)
	// Backward takes the gradient of the loss with respect to the last output
	// and overwrites every parameter's gradient (no accumulation). It calls
	// emit(k) as soon as gradient k is complete: once for every parameter, before it
	// returns. The order is free, but reverse registration order starts the reductions
	// earliest, since buckets are laid out for it. A run ends with an error if Backward emits a
	// parameter twice, omits one, or emits an unknown number.
	Backward(outputGradient tensor.Tensor, emit func(parameter int)) error
}

// FeatureModel is a Model that also computes the gradient of its Features, so that they can be
// learnt. A trainer that looks the features up on servers sends their gradient back there.
type FeatureModel interface {
	Model
	// BackwardInput is Backward; after the last emit it also overwrites
	// inputGradient, [b.Size(), features], with the gradient of the loss with
	// respect to the Features of the last Forward.
	BackwardInput(outputGradient tensor.Tensor, inputGradient []float32, emit func(parameter int)) error
}

// SteppingModel is a Model with an optimizer of its own, which replaces the trainer's. It lives in
// its trainer's process, unless it speaks the protocol for other languages. A server of parameters
// cannot hold it.
type SteppingModel interface {
	Model
	// Step steps the parameters by the reduced gradients. Initialize forgets the optimizer's
	// state.
	Step() error
}

// EvaluatingModel is a Model that computes outputs differently in an evaluation than in training:
// without dropout, for example.
type EvaluatingModel interface {
	Model
	// Evaluate is Forward for an evaluation: no Backward follows.
	Evaluate(b *Batch) (tensor.Tensor, error)
}

// Evaluator returns the method of m that computes outputs in an evaluation: Evaluate if m has it,
// else Forward.
func Evaluator(m Model) func(*Batch) (tensor.Tensor, error) {
	if e, ok := m.(EvaluatingModel); ok {
		return e.Evaluate
	}
	return m.Forward
}

// ModelEnv holds the facts about a run that its model gets.
type ModelEnv struct {
	MaxBatch int // the run's --batch-size; batches that the data cuts itself may be larger
	Threads  int // threads that the model may use for compute
	// FirstTensor is the number of the model's first parameter among the run's
	// tensors; the tables of servers come before it.
	FirstTensor int
	Recorder    *Recorder
	// Engine owns the memory in which the model computes, such as activations and the output.
	Engine engine.Engine
}

// Describer is implemented by parts that report facts about where and how they ran, e.g.
// {"blas": "openblas"}. Facts is called once, before training.
type Describer interface {
	Facts() map[string]string
}

// PassDescriber is implemented by parts that know some facts only after a pass, e.g.
// {"rows dropped": "12 of 400"}. PassFacts is called after each pass whose measurements are
// collected, perhaps not after a failed one. No other method runs meanwhile, but goroutines of the
// part may still run. In the process of a trainer or a server, psbench also collects the values
// that PassFacts records.
type PassDescriber interface {
	PassFacts() map[string]string
}
