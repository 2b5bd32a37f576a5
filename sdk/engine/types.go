package engine

import (
	"fmt"
	"strings"
)

// Type is the type of the elements for which memory is allocated. Parameters, gradients,
// outputs and the state of optimizers are Float32.
type Type string

// The types that engines may have.
const (
	Float32  Type = "float32"
	Float16  Type = "float16"
	BFloat16 Type = "bfloat16"
	Int32    Type = "int32"
	Int64    Type = "int64"
)

// Bytes returns the size of an element, or 0 if t is unknown.
func (t Type) Bytes() int {
	switch t {
	case Float16, BFloat16:
		return 2
	case Float32, Int32:
		return 4
	case Int64:
		return 8
	}
	return 0
}

// Lacks returns the error of Alloc in the engine called name, which has the types has but not t.
func Lacks(name string, t Type, has ...Type) error {
	return fmt.Errorf("engine %s has no elements of type %s: it has %s", name, t, list(has))
}

// list joins words for a sentence.
func list[T ~string](words []T) string {
	if len(words) == 0 {
		return "none"
	}
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = string(w)
	}
	return strings.Join(out, ", ")
}
