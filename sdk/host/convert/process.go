package convert

import (
	"time"

	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/host/process"
	"github.com/psbench/psbench/sdk/proto"
)

// Process says who a process is.
func Process(req *proto.ConfigureRequest) process.Config {
	return process.Config{
		Name: req.GetName(), Rank: int(req.GetRank()), Part: Choice(req.GetPart()),
		Timeout: time.Duration(req.GetTimeoutNs()), Secret: req.GetSecret(),
		Directory: req.GetDirectory(), Transport: req.GetTransport(), Listen: req.GetListen(),
	}
}

// Choice is a part with its settings.
func Choice(c *proto.PartChoice) process.Choice {
	return process.Choice{Kind: sdk.Kind(c.GetKind()), Key: c.GetKey(), Settings: c.GetSettings()}
}

// ModelEnv is what a model knows of its run.
func ModelEnv(e *proto.ModelEnv) sdk.ModelEnv {
	return sdk.ModelEnv{MaxBatch: int(e.GetMaxBatch()), Threads: int(e.GetThreads()), FirstTensor: int(e.GetFirstTensor())}
}
