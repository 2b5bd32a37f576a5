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

// InputSpec is what a model accepts; data is validated against it before
// training starts.
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
	// numbers; 0: not said, and the criterion finds out.
	Outputs int
	// Tables are the rows of each embedding table where there are several; Rows is 0
	// then. Every bag has one index for each table, in order: 0 <= bag[k] < Tables[k].
	Tables []int
	// LookedUp is how many of the Features, the last ones, are rows of embedding tables
	// that a trainer looks up for the model, one row of each of the Tables. The data then
	// has the indices, and Features-LookedUp numbers.
	LookedUp int
	// BagLength is how many indices every bag has where there are Rows. 0: any number. EquallyLong:
	// any number, but all bags of a batch have as many.
	BagLength int
}

// EquallyLong is the InputSpec.BagLength of a model that takes bags as a matrix.
const EquallyLong = -1

// Model computes outputs and gradients. The host owns parameters and gradients
// and hands them over once, by Bind; the model reads the first and writes the
// second. Order of calls: Parameters, Inputs, Bind, then for each pass
// Initialize and for each iteration Forward and Backward. Values, the values of gradients,
// outputs and their gradients lie in the memory of the process's engine; batches, the rows of
// sparse gradients, features and their gradient in ordinary memory.
type Model interface {
	// Parameters lists the tensors in registration order.
	Parameters() []ParameterSpec
	// Inputs states the limits of the input.
	Inputs() InputSpec
	// Bind hands over the storage of parameter k: values[k] has its shape;
	// gradients[k] has as many values when dense, and the run's row capacity
	// when sparse. The model writes into that storage and puts no other in its place;
	// of a sparse gradient it sets the number of rows by SetRows.
	Bind(values []tensor.Tensor, gradients []*tensor.Gradient) error
	// Initialize writes the initial values, a pure function of the seed. What fails in it, such as
	// a copy into the engine's memory, is the error of the next Forward.
	Initialize(seed uint64)
	// Forward returns the output for a batch, [b.Size(), classes]. The tensor
	// belongs to the model and is valid until the next Forward. The batch is only to
	// be read: it lies where writing ends the process.
	Forward(b *Batch) (tensor.Tensor, error)
	// Backward takes the gradient of the loss with respect to the last output
	// and overwrites every parameter's gradient (no accumulation). It calls
	// emit(k) as soon as gradient k is complete: once for every parameter, before it
	// returns. The order is free; buckets are laid out for reverse registration order,
	// in which their reduction starts earliest. A parameter that is emitted twice,
	// never, or that there is not ends the run.
	Backward(outputGradient tensor.Tensor, emit func(parameter int)) error
}

// FeatureModel is a Model whose Features can be learnt too: a trainer that looks
// them up on servers sends their gradient back there.
type FeatureModel interface {
	Model
	// BackwardInput is Backward; after the last emit it also overwrites
	// inputGradient, [b.Size(), features], with the gradient of the loss with
	// respect to the Features of the last Forward.
	BackwardInput(outputGradient tensor.Tensor, inputGradient []float32, emit func(parameter int)) error
}

// SteppingModel is a Model with an optimizer of its own: the trainer's is not used. It lives in its
// trainer's process unless it speaks the protocol for other languages, and no server of parameters
// can hold it.
type SteppingModel interface {
	Model
	// Step steps the parameters by the reduced gradients. Initialize forgets what earlier steps
	// left.
	Step() error
}

// EvaluatingModel is a Model that computes the outputs of held-out samples in another way than
// those that it learns from: without dropout, say.
type EvaluatingModel interface {
	Model
	// Evaluate is Forward, and no Backward follows.
	Evaluate(b *Batch) (tensor.Tensor, error)
}

// Evaluator is what computes a model's outputs of held-out samples: its Evaluate, or else its
// Forward.
func Evaluator(m Model) func(*Batch) (tensor.Tensor, error) {
	if e, ok := m.(EvaluatingModel); ok {
		return e.Evaluate
	}
	return m.Forward
}

// ModelEnv is what a model knows of its run.
type ModelEnv struct {
	MaxBatch int // the run's --batch-size; batches that the data cuts itself may be larger
	Threads  int // threads that the model may use for compute
	// FirstTensor is the number of the model's first parameter among the run's
	// tensors; the tables of servers come before it.
	FirstTensor int
	Recorder    *Recorder
	// Engine owns the memory that the model computes in: activations and the output come from
	// it.
	Engine engine.Engine
}

// Describer is implemented by parts that have facts to report about where and
// how they ran, e.g. {"blas": "openblas"}. It is asked once, before training.
type Describer interface {
	Facts() map[string]string
}

// PassDescriber is implemented by parts that know some facts only after a pass, e.g.
// {"rows dropped": "12 of 400"}. It is asked after each pass whose measurements are collected,
// while nothing else is called; what a part does on goroutines of its own may still go on. Of a
// pass that failed it may not be asked. In the process of a trainer or a server, what it records when
// it is asked is collected as well.
type PassDescriber interface {
	PassFacts() map[string]string
}
