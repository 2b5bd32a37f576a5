package dataparallel

import "github.com/psbench/psbench/sdk"

// HookState is an sdk.HookState that the trainer can advance.
type HookState interface {
	sdk.HookState
	// NextBatch advances to the next batch. Call NextBatch before each iteration; the first batch is
	// 0.
	NextBatch()
}

// basicState counts batches. The keys of basicState are {batch},{bucket}.
type basicState struct{ batch int64 }

// NewHookState returns the basic hook state of one pass. The state counts batches and has keys
// {batch},{bucket}.
func NewHookState() HookState { return &basicState{batch: -1} }

func (s *basicState) NextBatch()             { s.batch++ }
func (s *basicState) Batch() int64           { return s.batch }
func (s *basicState) Key(bucket int) sdk.Key { return sdk.Key{A: s.batch, B: int64(bucket)} }
