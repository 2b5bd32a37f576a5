package tensor

import "strings"

// Type is an element type. The zero value stands for Float32.
type Type string

// The element types. Float16 and BFloat16 are added in float32: a group on one host rounds a sum once, a ring rounds at
// each member. Int32 and Int64 wrap. Int8 and Uint8 travel but are never summed.
const (
	Float32  Type = "float32"
	Float16  Type = "float16"
	BFloat16 Type = "bfloat16"
	Int32    Type = "int32"
	Int64    Type = "int64"
	Int8     Type = "int8"
	Uint8    Type = "uint8"
)

// Types lists all element types.
var Types = []Type{Float32, Float16, BFloat16, Int32, Int64, Int8, Uint8}

// element is the row of a type. The file named after the type defines it.
type element struct {
	bytes      int
	arithmetic *Arithmetic // nil if the type is never summed
}

// element returns the row of t; its size is 0 if t is unknown. A switch finds the row faster than a map does.
func (t Type) element() *element {
	switch t {
	case "", Float32:
		return &float32Element
	case Float16:
		return &float16Element
	case BFloat16:
		return &bfloat16Element
	case Int32:
		return &int32Element
	case Int64:
		return &int64Element
	case Int8:
		return &int8Element
	case Uint8:
		return &uint8Element
	}
	return &element{}
}

// JoinTypes lists types as a sentence does, "none" if there are none.
func JoinTypes(types []Type) string {
	if len(types) == 0 {
		return "none"
	}
	words := make([]string, len(types))
	for i, t := range types {
		words[i] = t.String()
	}
	return strings.Join(words, ", ")
}

// String returns the name of the type.
func (t Type) String() string {
	if t == "" {
		return string(Float32)
	}
	return string(t)
}

// Is32 reports whether t is Float32.
func (t Type) Is32() bool { return t == "" || t == Float32 }

// Bytes returns the size of an element in bytes, or 0 if t is unknown.
func (t Type) Bytes() int { return t.element().bytes }

// Arithmetic returns the sums of t, or nil if t is never summed.
func (t Type) Arithmetic() *Arithmetic { return t.element().arithmetic }

// Sums reports whether elements can be added.
func (t Type) Sums() bool { return t.Arithmetic() != nil }

// Averages reports whether sums can be divided. Integers have no average.
func (t Type) Averages() bool { return t.Sums() && t.Arithmetic().Scale != nil }

// Arithmetic sums elements that lie in words of 4 bytes, as Gradient.Values holds them. The slices of a call have
// equal length. All SIMD levels give equal bits, except for the payloads of NaN.
type Arithmetic struct {
	// Add does dst[i] += src[i].
	Add func(dst, src []float32)
	// AddBoth does x[i] = y[i] = (x[i]+y[i])*a. Integers ignore a, which is 1.
	AddBoth func(a float32, x, y []float32)
	// Scale does x[i] *= a. It is nil for integers.
	Scale func(a float32, x []float32)
	// Wide sums in float32; it is nil for types whose Add rounds no more than that.
	Wide *Wide
}

// Wide sums 16-bit elements in float32, which holds two for each word.
type Wide struct {
	// Widen does sum[i] = src[i].
	Widen func(sum, src []float32)
	// Add does sum[i] += src[i].
	Add func(sum, src []float32)
	// Narrow does dst[i] = sum[i]*a and rounds once, to the nearest even.
	Narrow func(dst []float32, a float32, sum []float32)
}
