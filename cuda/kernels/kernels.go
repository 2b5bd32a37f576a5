//go:build nvidia

package kernels

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/psbench/psbench/cuda/driver"
	"github.com/psbench/psbench/cuda/library"
)

//go:embed ptx/*.ptx
var sources embed.FS

// A kernel is the index of a function in Kernels.
type kernel int

const (
	axpy kernel = iota
	scale
	fill
	sum
	relu
	reluGradient
	sgd
	momentum
	adam
	adagrad
	sgdGroup
	momentumGroup
	adamGroup
	adagradGroup
	adamRows
	adagradRows
	rowwiseAdagrad
	addBias
	columnSum
	softmax
	softmaxGradient
	logSoftmax
	logSoftmaxGradient
	total
	crossEntropy
	nll
	bce
	l1
	mse
	crossEntropyFloats
	bceFloats
	l1Floats
	mseFloats
	gatherBags
	scatterBags
	gatherRows
	scatterRows
	scatterRuns
	coalesceRows
	copyColumns
	interaction
	interactionGradient
	toFloat16
	fromFloat16
	toBFloat16
	fromBFloat16
	gemmNN
	gemmNT
	gemmTN
	gemmTT
	gemmFewN
	gemmFewT
	gemmParts
	kernelCount
)

// names are the kernels' names in the PTX.
var names = [kernelCount]string{
	axpy: "axpy", scale: "scale", fill: "fill", sum: "sum", relu: "relu", reluGradient: "relu_gradient",
	sgd: "sgd", momentum: "momentum", adam: "adam", adagrad: "adagrad",
	sgdGroup: "sgd_group", momentumGroup: "momentum_group", adamGroup: "adam_group", adagradGroup: "adagrad_group",
	adamRows: "adam_rows", adagradRows: "adagrad_rows", rowwiseAdagrad: "rowwise_adagrad",
	addBias: "add_bias", columnSum: "column_sum",
	softmax: "softmax", softmaxGradient: "softmax_gradient", logSoftmax: "log_softmax",
	logSoftmaxGradient: "log_softmax_gradient",
	total:              "total", crossEntropy: "cross_entropy", nll: "nll", bce: "bce", l1: "l1", mse: "mse",
	crossEntropyFloats: "cross_entropy_floats", bceFloats: "bce_floats", l1Floats: "l1_floats", mseFloats: "mse_floats",
	gatherBags: "gather_bags", scatterBags: "scatter_bags", gatherRows: "gather_rows", scatterRows: "scatter_rows",
	scatterRuns: "scatter_runs", coalesceRows: "coalesce_rows", copyColumns: "copy_columns",
	interaction: "interaction", interactionGradient: "interaction_gradient",
	toFloat16: "to_float16", fromFloat16: "from_float16", toBFloat16: "to_bfloat16", fromBFloat16: "from_bfloat16",
	gemmNN: "gemm_nn", gemmNT: "gemm_nt", gemmTN: "gemm_tn", gemmTT: "gemm_tt",
	gemmFewN: "gemm_few_n", gemmFewT: "gemm_few_t", gemmParts: "gemm_parts",
}

// Kernels are the kernels of a context. Several queues may launch them at the same time.
type Kernels struct {
	context   *driver.Context
	modules   []*driver.Module
	functions [kernelCount]driver.Function

	opening sync.Mutex // guards the fields below
	opened  bool
	cublas  *library.CuBLAS // nil if the kernels multiply
	whyOwn  string          // reason if the kernels multiply
}

// Load lets the driver compile the kernels. This takes some tenths of a second unless the driver has the result in
// its cache.
func Load(c *driver.Context) (*Kernels, error) { return load(c, sources) }

func load(c *driver.Context, files fs.FS) (*Kernels, error) {
	k := &Kernels{context: c}
	err := checkChoice(os.Getenv(Variable)) // before the slow compilation
	if err == nil {
		err = k.load(files)
	}
	if err != nil {
		return nil, errors.Join(err, k.Close())
	}
	return k, nil
}

func (k *Kernels) load(files fs.FS) error {
	paths, err := fs.Glob(files, "ptx/*.ptx")
	if err != nil {
		return err
	}
	var found [kernelCount]bool
	for _, path := range paths {
		text, err := fs.ReadFile(files, path)
		if err != nil {
			return err
		}
		module, err := k.context.LoadModule(text)
		if err != nil {
			return fmt.Errorf("the kernels of %s do not load: %w", path, err)
		}
		k.modules = append(k.modules, module)
		for _, name := range entries(string(text)) {
			at := slices.Index(names[:], name)
			if at < 0 {
				continue
			}
			if k.functions[at], err = module.Function(name); err != nil {
				return fmt.Errorf("kernel %s of %s: %w", name, path, err)
			}
			found[at] = true
		}
	}
	if at := slices.Index(found[:], false); at >= 0 {
		return fmt.Errorf("kernel %s is missing from the PTX: make the PTX again by cuda/kernels/make-ptx", names[at])
	}
	return nil
}

// entries returns the names of the kernels in a PTX file.
func entries(ptx string) []string {
	var names []string
	for _, after := range strings.Split(ptx, ".entry ")[1:] {
		name, _, _ := strings.Cut(after, "(")
		names = append(names, strings.TrimSpace(name))
	}
	return names
}

// Close unloads the kernels. All queues must be closed.
func (k *Kernels) Close() error {
	var err error
	for _, module := range k.modules {
		err = errors.Join(err, module.Unload())
	}
	k.modules = nil
	if k.cublas != nil {
		err = errors.Join(err, k.cublas.Close())
		k.cublas = nil
	}
	return err
}
