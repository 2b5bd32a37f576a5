package sweep

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/psbench/psbench/internal/quote"
)

// MostRepeats is the largest number of rounds of a sweep.
const MostRepeats = 1_000_000

// check returns an error if the plan is invalid. All indexes, file names and the identity of a checked plan are valid.
func (p *Plan) check() error {
	switch {
	case p.Repeats < 1 || p.Repeats > MostRepeats:
		return fmt.Errorf("repeats is %d but must be from 1 to %d", p.Repeats, MostRepeats)
	case p.Begun < 0 || p.Begun >= p.Repeats:
		return fmt.Errorf("begun is %d but must be from 0 to less than repeats, which is %d", p.Begun, p.Repeats)
	case p.Budget.Time < 0 || p.Budget.Failures < 0 || p.RunTimeout < 0:
		return errors.New("a budget or the time of a run is negative")
	case p.Baseline < 0 || p.Baseline >= len(p.Cells) || !p.Cells[p.Baseline].Runs():
		return fmt.Errorf("baseline is %d, which is the place of no cell that runs", p.Baseline)
	}
	sums := map[string]string{}
	for _, b := range p.Binaries {
		if sum, err := hex.DecodeString(b.SHA256); err != nil || len(sum) != 32 || !filepath.IsAbs(b.Path) ||
			sums[b.Path] != "" {
			return fmt.Errorf("binary %s must have an absolute path of its own and a SHA-256", quote.String(b.Name))
		}
		sums[b.Path] = b.SHA256
	}
	ids, names := map[string]bool{}, map[string]bool{}
	for _, c := range p.Cells {
		if err := c.check(len(p.Axes), sums, ids); err != nil {
			return fmt.Errorf("cell %s: %w", quote.String(c.Name), err)
		}
		if _, known := ids[c.ID]; known || names[c.Name] {
			return fmt.Errorf("cell %s is there twice", quote.String(c.Name))
		}
		ids[c.ID], names[c.Name] = c.Runs(), true
	}
	if id := p.identity(); id != p.Identity {
		return fmt.Errorf("the identity is %s, but the cells give %s: a file was edited",
			quote.String(p.Identity), id)
	}
	return nil
}

// check returns an error if the cell is invalid. before maps the IDs of earlier cells to whether the cell has its own
// runs.
func (c Cell) check(axes int, sums map[string]string, before map[string]bool) error {
	if len(c.Values) != axes {
		return fmt.Errorf("it has %d values for %d axes", len(c.Values), axes)
	}
	if c.Skipped == "" {
		n, _ := c.Config[SeedKey].(json.Number)
		if _, err := strconv.ParseUint(string(n), 10, 64); err != nil {
			return fmt.Errorf("%s of its configuration is %s but must be a whole number", SeedKey,
				quote.String(fmt.Sprint(c.Config[SeedKey])))
		}
		for _, path := range append([]string{c.Binary}, c.Plugins...) {
			if sums[path] == "" {
				return fmt.Errorf("its program %s has no checksum", quote.Word(path))
			}
		}
	}
	if id := c.identity(sums); c.ID != id {
		return fmt.Errorf("its ID is %s, but its configuration gives %s: a file was edited",
			quote.String(c.ID), id)
	}
	if c.Same != "" && !before[c.Same] {
		return fmt.Errorf("it is the same as %s, which is no cell before it that runs", quote.String(c.Same))
	}
	if c.Expected < 0 {
		return fmt.Errorf("its expected time is negative")
	}
	return nil
}
