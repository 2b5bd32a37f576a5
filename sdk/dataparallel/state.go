package dataparallel

import "github.com/psbench/psbench/sdk"

// HookState is the sdk.HookState of a hook, with a method by which the trainer advances it.
type HookState interface {
	sdk.HookState
	// NextBatch is called before each iteration; the first batch is 0.
	NextBatch()
}

// basicState counts batches; keys are {batch},{bucket}.
type basicState struct{ batch int64 }

// NewHookState returns the basic hook state of one pass. It counts batches, and its keys are
// {batch},{bucket}.
func NewHookState() HookState { return &basicState{batch: -1} }

func (s *basicState) NextBatch()             { s.batch++ }
func (s *basicState) Batch() int64           { return s.batch }
func (s *basicState) Key(bucket int) sdk.Key { return sdk.Key{A: s.batch, B: int64(bucket)} }
