package run

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/internal/comm/fabric"
	"github.com/psbench/psbench/internal/host/stop"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/proto"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// experiment returns an experiment whose parts all come from the built-in plugin.
func experiment(trainers, servers int, links registry.Links, isolate ...sdk.Kind) *config.Experiment {
	builtin := registry.Plugin{Name: registry.Builtin}
	e := &config.Experiment{
		World: config.World{Trainers: trainers, Servers: servers}, Links: links,
		Service: sdk.ServiceGradients, Length: stop.Length{Epochs: 3}, WarmUp: stop.Length{Epochs: 3},
		Fabric: fabric.Default(),
		Parts:  map[sdk.Kind]config.Part{}, Isolate: map[sdk.Kind]bool{}, Timeout: time.Minute,
	}
	for _, kind := range []sdk.Kind{sdk.KindTrainer, sdk.KindServer, sdk.KindHook, sdk.KindCriterion, sdk.KindData,
		sdk.KindModel} {
		e.Parts[kind] = config.Part{Key: "a_" + string(kind), Plugin: builtin}
	}
	for _, kind := range isolate {
		e.Isolate[kind] = true
	}
	return e
}

func peers(list []*proto.Peer) (out []string) {
	for _, p := range list {
		out = append(out, p.GetName())
	}
	return out
}
