package batches

import (
	"fmt"

	"github.com/psbench/psbench/sdk"
)

// Checker checks samples against the limits of a run's inputs. Its errors name a sample
// by its number and by where it came from.
type Checker struct {
	In        sdk.InputSpec
	Adjective string                            // of the samples, with a space after it, or ""
	First     int                               // number of the first sample to be checked
	Origin    func(sample, position int) string // as Samples.Origin; may be nil, or say nothing
}

// Check checks every sample of b, which has one at least.
func (c *Checker) Check(b *sdk.Batch) error {
	if err := Check(b); err != nil {
		return fmt.Errorf("the %sdata does not hold together: %w", c.Adjective, err)
	}
	numbers, targets := len(b.Features)/b.Size(), len(b.Targets)/b.Size()
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
		if err := c.checkTargets(b.Targets[i*targets:(i+1)*targets], i); err != nil {
			return err
		}
	}
	return nil
}

// checkCounts checks what all samples have equally many of, and names the first.
func (c *Checker) checkCounts(b *sdk.Batch, numbers, targets int) error {
	wanted := max(1, c.In.Targets)
	switch {
	case (c.In.Rows > 0 || len(c.In.Tables) > 0) && len(b.Offsets) == 0:
		return fmt.Errorf("%s has no bag of indices but the model takes one", c.whole(0))
	case numbers != c.In.Features:
		return fmt.Errorf("%s: the number of features is %d but the model takes %d", c.whole(0), numbers, c.In.Features)
	case targets != wanted:
		return fmt.Errorf("%s: the number of targets is %d but must be %d, one for each row that the model gets of a sample", c.whole(0), targets, wanted)
	}
	return nil
}

// checkBag checks the indices of sample i: of one table, or one of each table.
func (c *Checker) checkBag(bag []int64, i int) error {
	if tables := c.In.Tables; len(tables) > 0 {
		if len(bag) != len(tables) {
			return fmt.Errorf("%s: the bag has %d indices but must have %d, one for each of the model's tables", c.whole(i), len(bag), len(tables))
		}
		for p, v := range bag {
			if v < 0 || v >= int64(tables[p]) {
				return fmt.Errorf("%s: index %d is outside table %d's range of 0 to %d", c.position(i, p), v, p, tables[p]-1)
			}
		}
		return nil
	}
	rows := c.In.Rows
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

// checkFeatures checks the numbers of sample i, whose first one is at position first.
func (c *Checker) checkFeatures(numbers []float32, i, first int) error {
	for p, v := range numbers {
		if v-v != 0 { // of what is finite it is 0
			return fmt.Errorf("%s: the number %v is not finite", c.position(i, first+p), v)
		}
	}
	return nil
}

// checkTargets checks the targets of sample i.
func (c *Checker) checkTargets(targets []int64, i int) error {
	for k, v := range targets {
		if v >= 0 && v < int64(c.In.Classes) {
			continue
		}
		where := c.whole(i)
		if len(targets) > 1 {
			where = c.name(i, -1-k, ", target %d", k)
		}
		return fmt.Errorf("%s: target %d is outside the model's classes of 0 to %d", where, v, c.In.Classes-1)
	}
	return nil
}

// whole names sample i.
func (c *Checker) whole(i int) string { return c.name(i, -1, "") }

// position names an index or a feature of sample i, as Origin counts.
func (c *Checker) position(i, position int) string {
	return c.name(i, position, ", position %d", position)
}

// name says what is at a position of sample i, and where that came from.
func (c *Checker) name(i, position int, what string, args ...any) string {
	text := fmt.Sprintf("%ssample %d", c.Adjective, c.First+i) + fmt.Sprintf(what, args...)
	if c.Origin != nil {
		if origin := c.Origin(i, position); origin != "" {
			text += " (" + origin + ")"
		}
	}
	return text
}
