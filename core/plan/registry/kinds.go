package registry

import "github.com/psbench/psbench/sdk"

// Kinds lists every kind of part in the order in which they are shown.
var Kinds = []sdk.Kind{
	sdk.KindTrainer, sdk.KindServer, sdk.KindHook, sdk.KindCriterion, sdk.KindData, sdk.KindModel,
	sdk.KindDDPModel, sdk.KindHookState, sdk.KindIterationStep, sdk.KindPreprocessData,
}

// Isolable lists the kinds that share the process of their trainer unless the user, or the
// plugin that provides them, wants otherwise.
var Isolable = []sdk.Kind{sdk.KindHook, sdk.KindCriterion, sdk.KindModel}
