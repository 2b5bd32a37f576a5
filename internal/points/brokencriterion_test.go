//go:build !race

package points

import (
	"math"
	"unsafe"

	"github.com/psbench/psbench/comm/tensor"
)

// sound is embedded in parts that keep their contracts. The field fault names the single violation of a broken
// part.
type sound struct{ fault string }

func (s sound) has(fault string) bool { return s.fault == fault }

// behind writes beyond the end of values.
func behind(values []float32) {
	*(*float32)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(values)), 4*len(values))) = 1
}

// brokenSquares returns half of the mean squared distance to the target.
type brokenSquares struct {
	sound
	output  tensor.Tensor
	targets []int64
	calls   float64
}

func (c *brokenSquares) Forward(output tensor.Tensor, targets []int64) (float64, error) {
	c.output, c.targets, c.calls = output, targets, c.calls+1
	sum := 0.0
	for i, v := range output.Data {
		d := float64(v) - float64(targets[i/output.Shape[1]])
		sum += d * d / 2
	}
	switch {
	case c.has("a sum in the place of a mean"):
		return sum, nil
	case c.has("a loss that counts its calls"):
		return sum/float64(len(targets)) + 1e-9*c.calls, nil
	case c.has("a loss that is not finite for one sample") && len(targets) == 1:
		return math.NaN(), nil
	}
	return sum / float64(len(targets)), nil
}

func (c *brokenSquares) Backward(g tensor.Tensor) error {
	n := float32(len(c.targets))
	if c.has("a sum in the place of a mean") {
		n = 1
	}
	for i, v := range c.output.Data {
		g.Data[i] = (v - float32(c.targets[i/c.output.Shape[1]])) / n
	}
	if c.has("a gradient of half its length") {
		g.Data[0] /= 2
	}
	switch {
	case c.has("an output that is overwritten"):
		c.output.Data[0] = 0
	case c.has("targets that are overwritten"):
		c.targets[0] = 1
	case c.has("a value behind the end of the gradient"):
		behind(g.Data)
	}
	return nil
}

// floatSquares also accepts numbers as targets, if a row has as many as the output.
type floatSquares struct {
	brokenSquares
	numbers []float32
}

func (c *floatSquares) Forward(output tensor.Tensor, targets []int64) (float64, error) {
	c.numbers = nil
	loss, err := c.brokenSquares.Forward(output, targets)
	if c.has("another loss of classes") {
		loss++
	}
	return loss, err
}

func (c *floatSquares) ForwardFloats(output tensor.Tensor, targets []float32) (float64, error) {
	c.output, c.numbers = output, targets
	sum := 0.0
	for i, v := range output.Data {
		d := float64(v) - float64(targets[i])
		sum += d * d / 2
	}
	return sum / float64(output.Shape[0]), nil
}

func (c *floatSquares) Backward(g tensor.Tensor) error {
	if c.numbers == nil {
		return c.brokenSquares.Backward(g)
	}
	for i, v := range c.output.Data {
		target := c.numbers[i]
		if c.has("a gradient of whole numbers") {
			target = float32(int(target))
		}
		g.Data[i] = (v - target) / float32(c.output.Shape[0])
	}
	return nil
}
