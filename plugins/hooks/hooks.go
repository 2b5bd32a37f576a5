// Package hooks holds the built-in communication hooks, one file each.
package hooks

import "github.com/psbench/psbench/sdk"

// Parts lists the hooks of this package.
func Parts() []sdk.Part {
	return []sdk.Part{
		sdk.NewHook("allreduce", noSettings{}, newAllreduce, sdk.LinkGroup),
		sdk.NewHook("hybrid", noSettings{}, newHybrid, sdk.LinkGroup, sdk.LinkDefault),
		sdk.NewHook("rpc", noSettings{}, newRPC, sdk.LinkServer),
		sdk.NewHook("sparse_rpc", noSettings{}, newSparseRPC, sdk.LinkServer, sdk.LinkGroup),
		sdk.NewHook("noop", noSettings{}, newNoop),
	}
}

type noSettings struct{}
