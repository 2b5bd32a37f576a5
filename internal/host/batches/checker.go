package batches

import (
	"fmt"
	"math"
	"slices"

	"github.com/psbench/psbench/sdk"
)

// Checker checks samples against the limits of a run's inputs. An error names the sample by its
// number and its origin, such as a file and line.
type Checker struct {
	In        sdk.InputSpec
	Wanted    Wanted
	Adjective string                            // word before "sample" in errors, with a trailing space; may be ""
	First     int                               // number of the first sample to check
	Origin    func(sample, position int) string // like Samples.Origin; may be nil or return ""
}

// Wanted says which targets the run's criterion accepts.
type Wanted struct {
	Criterion string // the criterion's key; "" if the criterion does not matter
	Targets   sdk.TargetKind
}

// Check checks every sample of b. b must hold at least one sample.
func (c *Checker) Check(b *sdk.Batch) error {
	if err := Check(b); err != nil {
		return fmt.Errorf("the %sdata is inconsistent: %w", c.Adjective, err)
	}
	numbers, targets := len(b.Features)/b.Size(), max(b.TargetWidth, len(b.Targets)/b.Size())
	if err := c.checkCounts(b, numbers, targets); err != nil {
		return err
	}
	for i := range b.Size() {
		var bag []int64
		if len(b.Offsets) > 0 {
			bag = b.Bag(i)
		}
		if err := c.checkBag(bag, i); err != nil {
			return err
		}
		if err := c.checkFeatures(b.Features[i*numbers:(i+1)*numbers], i, len(bag)); err != nil {
			return err
		}
		var err error
		if b.TargetWidth > 0 {
			err = c.checkFloatTargets(b.FloatTargets[i*targets:(i+1)*targets], i)
		} else {
			err = c.checkTargets(b.Targets[i*targets:(i+1)*targets], i)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkCounts checks the counts that all samples share, such as features per sample. An error names
// the first sample.
func (c *Checker) checkCounts(b *sdk.Batch, numbers, targets int) error {
	wanted := max(1, c.In.Targets)
	switch {
	case (c.In.Rows > 0 || len(c.In.Tables) > 0) && len(b.Offsets) == 0:
		return fmt.Errorf("%s has no bag of indices but the model takes one", c.whole(0))
	case numbers != c.In.Features:
		return fmt.Errorf("%s: the number of features is %d but the model takes %d", c.whole(0), numbers, c.In.Features)
	case b.TargetWidth > 0:
		return c.checkWidth(b, wanted)
	case targets != wanted:
		return fmt.Errorf(
			"%s: the number of targets is %d but must be %d, one for each row that the model gets of a sample",
			c.whole(0), targets, wanted)
	}
	return nil
}

// checkBag checks the indices of sample i. The indices name rows of the only table, or one row of
// each table.
func (c *Checker) checkBag(bag []int64, i int) error {
	if tables := c.In.Tables; len(tables) > 0 {
		if len(bag) != len(tables) {
			return fmt.Errorf("%s: the bag has %d indices but must have %d, one for each of the model's tables",
				c.whole(i), len(bag), len(tables))
		}
		for p, v := range bag {
			if v < 0 || v >= int64(tables[p]) {
				return fmt.Errorf("%s: index %d is outside table %d's range of 0 to %d", c.position(i, p), v,
					p, tables[p]-1)
			}
		}
		return nil
	}
	rows := c.In.Rows
	if want := c.In.BagLength; want > 0 && len(bag) != want {
		return fmt.Errorf("%s: the bag has %d indices but must have %d, as the model takes them", c.whole(i), len(bag),
			want)
	}
	for p, v := range bag {
		switch {
		case rows == 0:
			return fmt.Errorf("%s: there is index %d but the model takes no indices", c.position(i, p), v)
		case v < 0 || v >= int64(rows):
			return fmt.Errorf("%s: index %d is outside the embedding's range of 0 to %d", c.position(i, p), v, rows-1)
		}
	}
	return nil
}

// checkFeatures checks the features of sample i, which start at index first in the batch.
func (c *Checker) checkFeatures(numbers []float32, i, first int) error {
	for p, v := range numbers {
		if v-v != 0 { // v-v is 0 for every finite v
			return fmt.Errorf("%s: the number %v is not finite", c.position(i, first+p), v)
		}
	}
	return nil
}

// checkTargets checks the class targets of sample i.
func (c *Checker) checkTargets(targets []int64, i int) error {
	for k, v := range targets {
		if v >= 0 && v < int64(c.In.Classes) {
			continue
		}
		where := c.target(i, k, len(targets))
		return fmt.Errorf("%s: target %d is outside the model's classes of 0 to %d", where, v, c.In.Classes-1)
	}
	return nil
}

// checkWidth checks how many numbers make up the target of a sample. The model may produce several
// rows for each sample.
func (c *Checker) checkWidth(b *sdk.Batch, rows int) error {
	width, outputs, what := b.TargetWidth, rows*c.In.Outputs, "criterion"
	if c.Wanted.Criterion != "" {
		what += " " + c.Wanted.Criterion
	}
	what += " takes " + c.Wanted.Targets.Takes()
	switch kind := c.Wanted.Targets.OrClasses(); {
	case kind == sdk.ClassTargets || kind == sdk.ProbabilityTargets && width == rows:
		first, remedy := slices.IndexFunc(b.FloatTargets, func(v float32) bool { return !isClass(v, math.MaxInt64) }),
			""
		if c.Wanted.Criterion != "" {
			remedy = "; for targets that are numbers use --create-criterion mse, l1 or bce"
		}
		first = max(0, first)
		return fmt.Errorf("%s: the target is %v but %s%s", c.target(first/width, first%width, width),
			b.FloatTargets[first], what, remedy)
	case width%rows != 0:
		return fmt.Errorf(
			"%s: the number of targets is %d but must be a multiple of %d, the rows that the model gets of a sample",
			c.whole(0), width, rows)
	case outputs > 0 && width != outputs:
		return fmt.Errorf("%s: the number of targets is %d but the model has %s for each sample, and %s", c.whole(0),
			width, counted(outputs), what)
	}
	return nil
}

// checkFloatTargets checks the numeric targets of sample i.
func (c *Checker) checkFloatTargets(targets []float32, i int) error {
	each := len(targets) / max(1, c.In.Targets)
	for from := 0; from < len(targets); from += each {
		position, err := c.Wanted.Targets.CheckRow(targets[from : from+each])
		if err != nil {
			where := c.whole(i)
			if position >= 0 {
				where = c.target(i, from+position, len(targets))
			}
			return fmt.Errorf("%s: %w", where, err)
		}
	}
	return nil
}

func counted(outputs int) string {
	if outputs == 1 {
		return "1 output"
	}
	return fmt.Sprintf("%d outputs", outputs)
}

// target returns the name of target k of sample i. all is the number of targets per sample.
func (c *Checker) target(i, k, all int) string {
	if all > 1 {
		return c.name(i, -1-k, ", target %d", k)
	}
	return c.whole(i)
}

// isClass reports whether v is a class number below classes.
func isClass(v float32, classes int64) bool {
	return v >= 0 && v == float32(math.Trunc(float64(v))) && v < float32(classes)
}

// whole returns the name of sample i without a position.
func (c *Checker) whole(i int) string { return c.name(i, -1, "") }

// position returns the name of an index or feature of sample i. Positions count as in Origin.
func (c *Checker) position(i, position int) string {
	return c.name(i, position, ", position %d", position)
}

// name returns the name of sample i, with a position in the sample and the sample's origin.
func (c *Checker) name(i, position int, what string, args ...any) string {
	text := fmt.Sprintf("%ssample %d", c.Adjective, c.First+i) + fmt.Sprintf(what, args...)
	if c.Origin != nil {
		if origin := c.Origin(i, position); origin != "" {
			text += " (" + origin + ")"
		}
	}
	return text
}

// Check returns an error if the lists of a batch do not divide into samples.
func Check(b *sdk.Batch) error {
	size := b.Size()
	if b.TargetWidth != 0 {
		if n := len(b.FloatTargets); b.TargetWidth < 0 || len(b.Targets) > 0 || n != size*b.TargetWidth {
			return fmt.Errorf("%d classes and %d numbers as targets for %d samples; each must have %d numbers",
				len(b.Targets), n, size, b.TargetWidth)
		}
	} else if n := len(b.Targets); n < size || n%max(1, size) != 0 || size == 0 && n > 0 {
		return fmt.Errorf("%d targets for %d samples; each must have the same number, at least one", n, size)
	}
	if n := len(b.FloatTargets); n > 0 && b.TargetWidth == 0 {
		return fmt.Errorf("%d numbers as targets and no TargetWidth that cuts them into samples", n)
	}
	if n := len(b.Features); n%max(1, size) != 0 || size == 0 && n > 0 {
		return fmt.Errorf("%d features for %d samples; each must have the same number", n, size)
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
