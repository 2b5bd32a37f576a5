package batches

import (
	"fmt"

	"github.com/psbench/psbench/sdk"
)

// Check says where the lists of a batch do not cut into samples.
func Check(b *sdk.Batch) error {
	size := b.Size()
	if b.TargetWidth != 0 {
		if n := len(b.FloatTargets); b.TargetWidth < 0 || len(b.Targets) > 0 || n != size*b.TargetWidth {
			return fmt.Errorf("%d classes and %d numbers as targets for %d samples; each must have %d numbers", len(b.Targets), n, size, b.TargetWidth)
		}
	} else if n := len(b.Targets); n < size || n%max(1, size) != 0 || size == 0 && n > 0 {
		return fmt.Errorf("%d targets for %d samples; each must have equally many, and one at least", n, size)
	}
	if n := len(b.FloatTargets); n > 0 && b.TargetWidth == 0 {
		return fmt.Errorf("%d numbers as targets and no TargetWidth that cuts them into samples", n)
	}
	if n := len(b.Features); n%max(1, size) != 0 || size == 0 && n > 0 {
		return fmt.Errorf("%d features for %d samples; each must have equally many", n, size)
	}
	last := int64(0)
	for i, at := range b.Offsets {
		if at < last || i == 0 && at != 0 {
			return fmt.Errorf("offset %d is %d; offsets start at 0 and do not fall", i, at)
		}
		last = at
	}
	switch n := len(b.Indices); {
	case n > 0 && len(b.Offsets) == 0:
		return fmt.Errorf("there are %d indices but no offsets that cut them into bags", n)
	case last != int64(n):
		return fmt.Errorf("the last offset is %d but there are %d indices", last, n)
	}
	return nil
}
