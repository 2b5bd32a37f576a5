package ddp

import (
	"fmt"
	"maps"
	"slices"

	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/dataparallel"
)

// The in-trainer maps, from key to implementation. To add an implementation, add one line here and one in
// registry.json.
var (
	ddpModels      = map[string]newDDPModel{"basic": newReplica}
	hookStates     = map[string]newHookState{"basic": dataparallel.NewHookState}
	iterationSteps = map[string]iterationStep{"basic": basicStep}
	preprocessors  = map[string]preprocessData{"dummy": preprocessDummy}
)

// keys declares the keys of a map as parts.
func keys[T any](kind sdk.Kind, m map[string]T) []sdk.Part {
	var parts []sdk.Part
	for _, key := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, sdk.InTrainer(kind, key))
	}
	return parts
}

// choose returns the implementation whose key the run chose for a kind.
func choose[T any](kind sdk.Kind, m map[string]T, env sdk.TrainerEnv) (T, error) {
	v, ok := m[env.Maps[kind]]
	if !ok {
		return v, fmt.Errorf("the ddp trainer has no %s %q; it has %v", kind, env.Maps[kind],
			slices.Sorted(maps.Keys(m)))
	}
	return v, nil
}

// preprocessData prepares the batches of a rank before training, as sdk.Preprocessor defines.
type preprocessData func(rank int, batches []sdk.Batch) ([]sdk.Batch, error)

// preprocessDummy leaves the batches unchanged.
func preprocessDummy(int, []sdk.Batch) ([]sdk.Batch, error) { return nil, nil }

// newHookState creates the state of one pass.
type newHookState func() dataparallel.HookState
