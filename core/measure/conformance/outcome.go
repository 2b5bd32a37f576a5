package conformance

import (
	"encoding/json"
	"strings"

	"github.com/psbench/psbench/internal/points"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/sdk"
)

// outcome is the result of a check point.
type outcome struct {
	Kind    sdk.Kind `json:"kind"`
	Key     string   `json:"key"`
	Point   string   `json:"point"`
	Outcome string   `json:"outcome"`
	Promise string   `json:"promise"`       // what the part must guarantee
	Why     string   `json:"why,omitempty"` // what is wrong, or why psbench could not check the promise
}

const (
	pointKept   = "ok"
	pointFailed = "failed"
	pointUnseen = "unseen"
)

// begin announces the part that is checked next.
func (c *Check) begin(part sdk.Part) error {
	if c.JSON {
		return nil // each outcome names the part
	}
	return c.line(0, "%s %s", part.Kind, part.Key)
}

// tell writes an outcome as a line of JSON or as text. A broken promise gets a second line of text.
func (c *Check) tell(o outcome) error {
	if c.JSON {
		return json.NewEncoder(c.Out).Encode(o)
	}
	switch o.Outcome {
	case pointUnseen:
		why := o.Why
		switch {
		case strings.HasPrefix(why, "not tried: "):
		case o.Point == points.Values:
			why = "values were not checked: " + why
		default:
			why = "not seen from outside: " + why
		}
		return c.line(20, "  --    %-11s %s", o.Point, quote.Lines(why))
	case pointFailed:
		if err := c.line(20, "  FAIL  %-11s %s", o.Point, quote.Lines(o.Why)); err != nil {
			return err
		}
		return c.line(20, "        %-11s it must keep this: %s", "", o.Promise)
	}
	return c.line(20, "  ok    %-11s %s", o.Point, o.Promise)
}

// end writes how many parts keep their contracts.
func (c *Check) end() error {
	if c.JSON {
		return nil
	}
	if c.unchecked > 0 {
		if err := c.line(0, "%d of these were not checked for the values that they answer", c.unchecked); err != nil {
			return err
		}
	}
	return c.line(0, "%d kept the contract, %d did not", c.kept, c.failed)
}
