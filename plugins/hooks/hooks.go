// Package hooks holds the built-in communication hooks, one file each.
package hooks

import "github.com/psbench/psbench/sdk"

// Parts lists the hooks of this package.
func Parts() []sdk.Part {
	return []sdk.Part{
		sdk.Answering(sdk.AnswersMean,
			sdk.Carrying(sdk.NewHook("allreduce", noSettings{}, newAllreduce, sdk.LinkGroup))),
		sdk.Answering(sdk.AnswersMean,
			sdk.Carrying(sdk.NewHook("hybrid", noSettings{}, newHybrid, sdk.LinkGroup, sdk.LinkDefault))),
		sdk.Answering(sdk.AnswersOwn, sdk.Carrying(sdk.NewHook("rpc", noSettings{}, newRPC, sdk.LinkServer))),
		sdk.Answering(sdk.AnswersOwn,
			sdk.Carrying(sdk.NewHook("sparse_rpc", noSettings{}, newSparseRPC, sdk.LinkServer, sdk.LinkGroup))),
		sdk.Answering(sdk.AnswersOwn, sdk.NewHook("noop", noSettings{}, newNoop)),
	}
}

type noSettings struct{}
