package sdk

import "github.com/psbench/psbench/sdk/proto"

// validate checks every sample, and every one that is held out, against the limits of
// the inputs.
func validate(s *Samples, in *proto.Inputs) error {
	if s == nil || s.Size() == 0 {
		return errNoSamples
	}
	c := checker{in: in, origin: s.Origin}
	if err := c.check(&s.Batch); err != nil {
		return err
	}
	return validateHeldOut(s, in)
}

func validateHeldOut(s *Samples, in *proto.Inputs) error {
	if heldOutSize(s) == 0 {
		return nil
	}
	c := checker{in: in, adjective: "held-out ", origin: s.HeldOut.Origin}
	return c.check(&s.HeldOut.Batch)
}

// heldOutSize is the number of samples that are held out.
func heldOutSize(s *Samples) int {
	if s == nil || s.HeldOut == nil {
		return 0
	}
	return s.HeldOut.Size()
}
