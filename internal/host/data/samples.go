package data

import (
	"github.com/psbench/psbench/internal/host/batches"
	"github.com/psbench/psbench/sdk"
)

// validate decides whether targets are classes or numbers. validate then checks every training and
// held-out sample against the limits of the inputs and the criterion.
func validate(s *sdk.Samples, in sdk.InputSpec, wanted batches.Wanted) error {
	if s == nil || s.Size() == 0 {
		return errNoSamples
	}
	batches.Settle(s, in, wanted.Targets)
	c := batches.Checker{In: in, Wanted: wanted, Origin: s.Origin}
	if err := c.Check(&s.Batch); err != nil {
		return err
	}
	return validateHeldOut(s, in, wanted)
}

func validateHeldOut(s *sdk.Samples, in sdk.InputSpec, wanted batches.Wanted) error {
	if heldOutSize(s) == 0 {
		return nil
	}
	c := batches.Checker{In: in, Wanted: wanted, Adjective: "held-out ", Origin: s.HeldOut.Origin}
	return c.Check(&s.HeldOut.Batch)
}

// heldOutSize returns the number of held-out samples.
func heldOutSize(s *sdk.Samples) int {
	if s == nil || s.HeldOut == nil {
		return 0
	}
	return s.HeldOut.Size()
}
