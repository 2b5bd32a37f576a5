package sdk

import (
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk/engine"
)

// ParameterSpec describes one parameter tensor of a model.
type ParameterSpec struct {
	Name  string
	Shape []int
	// Sparse reports whether the gradient is a list of rows of a [rows, width] table.
	Sparse bool
}

// InputSpec describes the samples that a model accepts. psbench validates the data against it
// before training starts.
type InputSpec struct {
	// Rows limits the indices of a bag: 0 <= index < Rows. If Rows is 0, samples have no bags.
	Rows int
	// Features is the number of numeric features per sample.
	Features int
	// Classes limits the targets: 0 <= target < Classes.
	Classes int
	// Targets is the number of targets per sample; 0 counts as 1.
	Targets int
	// Outputs is the number of columns of the output, one for each number of a numeric target. If
	// Outputs is 0, the number is unknown, and only the criterion detects a mismatch.
	Outputs int
	// Tables lists the number of rows of each embedding table, if there are several; then Rows is 0.
	// Every bag has one index for each table, in order: 0 <= bag[k] < Tables[k].
	Tables []int
	// LookedUp is the number of features that are rows of embedding tables; these are the last of the
	// Features. A trainer looks up these rows for the model, one row in each of the Tables. The data
	// then provides the indices and Features-LookedUp numbers.
	LookedUp int
	// BagLength is the number of indices in every bag, if Rows is above 0. If BagLength is 0, bags
	// have any length. If BagLength is EquallyLong, bags have any length, but all bags of a batch have
	// the same length.
	BagLength int
}

// EquallyLong is the InputSpec.BagLength of a model that uses the bags of a batch as a matrix.
const EquallyLong = -1

// Model computes outputs and gradients. The host owns the parameters and the gradients and passes
// them to the model once, in Bind. The model reads the parameters and writes the gradients.
//
// The order of calls is Parameters, Inputs, Bind, then Initialize for each pass, and Forward and
// Backward for each iteration.
//
// Parameters, the values of gradients, outputs and output gradients lie in the memory of the
// process's engine. Batches, the rows of sparse gradients, features and feature gradients lie in
// ordinary memory.
type Model interface {
	// Parameters lists the parameters in registration order.
	Parameters() []ParameterSpec
	// Inputs returns the limits of the model's inputs.
	Inputs() InputSpec
	// Bind passes the storage of the parameters and gradients. values[k] has the shape of parameter k.
	// gradients[k] has as many values if it is dense, and the run's row capacity if it is sparse. The
	// model must write into this storage and must not replace it. SetRows sets the number of rows of a
	// sparse gradient.
	Bind(values []tensor.Tensor, gradients []*tensor.Gradient) error
	// Initialize writes the initial values, which depend only on the seed. If Initialize fails, for
	// example to copy into the engine's memory, the next Forward returns the error.
	Initialize(seed uint64)
	// Forward returns the output for a batch, of shape [b.Size(), classes]. The tensor belongs to the
	// model and is valid until the next Forward. The batch is read-only memory: writing to it ends the
	// process.
	Forward(b *Batch) (tensor.Tensor, error)
	// Backward takes the gradient of the loss with respect to the last output. Backward overwrites
	// every parameter's gradient, without accumulation. Backward calls emit(k) as soon as gradient k
	// is complete: once for every parameter, before it returns.
	//
	// Any order is allowed, but reverse registration order starts the reductions earliest, since
	// buckets are laid out for it. A run ends with an error if Backward emits a parameter twice, omits
	// one, or emits an unknown number.
	Backward(outputGradient tensor.Tensor, emit func(parameter int)) error
}

// FeatureModel is a Model that also computes the gradient of its Features, so that the features can
// be learnt. A trainer that looks up features on servers sends their gradient back to those
// servers.
type FeatureModel interface {
	Model
	// BackwardInput works like Backward. After the last emit, BackwardInput also overwrites
	// inputGradient, of shape [b.Size(), features]. inputGradient is the gradient of the loss with
	// respect to the Features of the last Forward.
	BackwardInput(outputGradient tensor.Tensor, inputGradient []float32, emit func(parameter int)) error
}

// SteppingModel is a Model with an optimizer of its own, which replaces the trainer's. A
// SteppingModel lives in its trainer's process, unless it speaks the protocol for other languages.
// A server of parameters cannot hold a SteppingModel.
type SteppingModel interface {
	Model
	// Step updates the parameters with the reduced gradients. Initialize resets the optimizer's state.
	Step() error
}

// EvaluatingModel is a Model that computes outputs differently in evaluation and in training, for
// example without dropout.
type EvaluatingModel interface {
	Model
	// Evaluate is like Forward, for an evaluation. No Backward follows.
	Evaluate(b *Batch) (tensor.Tensor, error)
}

// Evaluator returns the method of m that computes outputs for an evaluation: Evaluate if m has it,
// otherwise Forward.
func Evaluator(m Model) func(*Batch) (tensor.Tensor, error) {
	if e, ok := m.(EvaluatingModel); ok {
		return e.Evaluate
	}
	return m.Forward
}

// ModelEnv holds the facts about a run that its model gets.
type ModelEnv struct {
	MaxBatch int // the run's --batch-size; batches that the data cuts itself may be larger
	Threads  int // number of threads that the model may use
	// FirstTensor is the number of the model's first parameter among the run's tensors. The tables of
	// servers have the lower numbers.
	FirstTensor int
	Recorder    *Recorder
	// Engine owns the memory in which the model computes, such as activations and the output.
	Engine engine.Engine
}

// Describer is implemented by parts that report facts about where and how they ran, e.g. {"blas":
// "openblas"}. Facts is called once, before training.
type Describer interface {
	Facts() map[string]string
}

// PassDescriber is implemented by parts that know some facts only after a pass, e.g. {"rows
// dropped": "12 of 400"}. psbench calls PassFacts after each pass whose measurements it collects.
// psbench may omit the call after a failed pass.
//
// No other method runs during PassFacts, but goroutines of the part may still run. In the process
// of a trainer or a server, psbench also collects the values that PassFacts records.
type PassDescriber interface {
	PassFacts() map[string]string
}
