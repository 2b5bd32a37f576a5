package batches

import (
	"cmp"

	"github.com/psbench/psbench/sdk"
)

// Settle converts the targets of samples to the kind that the criterion takes, if both kinds are
// possible. If every target is a class number of the model, the targets become classes. If some
// target is no class number, the targets become numbers, provided that the criterion takes numbers.
//
// So mse can train on a column of integer ratings, and bce can report an accuracy for a column of
// labels 0 and 1.
func Settle(s *sdk.Samples, in sdk.InputSpec, kind sdk.TargetKind) {
	parts := []*sdk.Batch{&s.Batch}
	if s.HeldOut != nil && s.HeldOut.Size() > 0 {
		parts = append(parts, &s.HeldOut.Batch)
	}
	kind = kind.OrClasses()
	bound := int64(in.Classes)
	if kind == sdk.ClassTargets || kind == sdk.ProbabilityTargets {
		bound = 1 << 24 // float32 represents every integer up to here; Checker reports those that are no class
	}
	classes := true
	for _, b := range parts {
		classes = classes && areClasses(b, max(1, in.Targets), bound, kind)
	}
	for _, b := range parts {
		if classes {
			toClasses(b)
		} else if kind == sdk.NumberTargets || kind == sdk.ShareTargets ||
			kind == sdk.ProbabilityTargets && oneHot(b, in) {
			toNumbers(b)
		}
	}
}

// areClasses reports whether every target of a batch is a class. each is the required number of
// targets per sample: the model's output rows per sample.
func areClasses(b *sdk.Batch, each int, bound int64, kind sdk.TargetKind) bool {
	if b.TargetWidth == 0 {
		if b.Size() == 0 || len(b.Targets) != each*b.Size() {
			return false
		}
		for _, v := range b.Targets {
			if (v < 0 || v >= bound) && (kind == sdk.NumberTargets || kind == sdk.ShareTargets) {
				return false
			}
		}
		return true
	}
	if b.TargetWidth != each {
		return false
	}
	for _, v := range b.FloatTargets {
		if !isClass(v, bound) {
			return false
		}
	}
	return true
}

// oneHot reports whether each sample has one integer target for each output.
func oneHot(b *sdk.Batch, in sdk.InputSpec) bool {
	return len(b.Targets) == b.Size()*max(1, in.Targets)*cmp.Or(in.Outputs, in.Classes)
}

func toClasses(b *sdk.Batch) {
	if b.TargetWidth == 0 {
		return
	}
	b.Targets = make([]int64, len(b.FloatTargets))
	for i, v := range b.FloatTargets {
		b.Targets[i] = int64(v)
	}
	b.FloatTargets, b.TargetWidth = nil, 0
}

// toNumbers skips targets that do not divide evenly among the samples.
func toNumbers(b *sdk.Batch) {
	if n := b.Size(); b.TargetWidth > 0 || n == 0 || len(b.Targets) == 0 || len(b.Targets)%n != 0 {
		return
	}
	b.TargetWidth = len(b.Targets) / b.Size()
	b.FloatTargets = make([]float32, len(b.Targets))
	for i, v := range b.Targets {
		b.FloatTargets[i] = float32(v)
	}
	b.Targets = nil
}
