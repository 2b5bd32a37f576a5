// Package tensor is what travels: tensors, gradients and the buckets that hold them,
// sums of sparse gradients, and checks of what others say of theirs.
package tensor

import "fmt"

// Tensor is a dense row-major array: Data holds the product of Shape elements.
// A Tensor is a view; copying it does not copy the elements. They lie in the memory of the
// engine that computes with them (see sdk/engine): Go may touch them only where that is
// ordinary memory.
type Tensor struct {
	Shape []int
	Data  []float32
}

// New allocates a zeroed tensor of the given shape in ordinary memory.
func New(shape ...int) Tensor {
	return Tensor{Shape: shape, Data: make([]float32, Elements(shape))}
}

// Elements is the number of elements of a tensor of this shape.
func Elements(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// Check reports an error if Data does not hold exactly the elements of Shape.
func (t Tensor) Check() error {
	if want := Elements(t.Shape); len(t.Data) != want {
		return fmt.Errorf("a tensor of shape %v needs %d elements but holds %d", t.Shape, want, len(t.Data))
	}
	return nil
}

// Shard is the place of a member's part of so many elements, which a group scatters in
// the order of positions. The sizes of parts differ by one element at most.
func Shard(elements, members, position int) (from, to int) {
	return position * elements / members, (position + 1) * elements / members
}

// Block is the place of the part for a member of so many elements, which are scattered in
// equal parts. Up to members-1 elements at the end belong to no part.
func Block(elements, members, position int) (from, to int) {
	size := elements / members
	return position * size, (position + 1) * size
}
