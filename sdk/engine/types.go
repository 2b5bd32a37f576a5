package engine

import (
	"fmt"

	"github.com/psbench/psbench/comm/tensor"
)

// Type is the element type of allocated memory. Parameters, gradients, outputs and the state of optimizers are
// Float32.
type Type = tensor.Type

// The types that engines may have.
const (
	Float32  = tensor.Float32
	Float16  = tensor.Float16
	BFloat16 = tensor.BFloat16
	Int32    = tensor.Int32
	Int64    = tensor.Int64
	Int8     = tensor.Int8
	Uint8    = tensor.Uint8
)

// Lacks returns the error of Alloc in the engine called name, which has the types has but not t.
func Lacks(name string, t Type, has ...Type) error {
	return fmt.Errorf("engine %s has no elements of type %s: it has %s", name, t, tensor.JoinTypes(has))
}
