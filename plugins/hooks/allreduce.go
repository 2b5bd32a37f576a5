package hooks

import "github.com/psbench/psbench/sdk"

// newAllreduce returns the hook that averages every bucket over the trainers' group.
func newAllreduce(_ noSettings, env sdk.HookEnv) (sdk.Hook, error) { return averaging(env), nil }
