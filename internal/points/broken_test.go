//go:build !race

package points

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/psbench/psbench/internal/points/harness"
	"github.com/psbench/psbench/sdk"
)

// of returns the part of a kind with the given fault. Some faults are data races, so these tests do not run under
// the race detector.
func of(kind, fault string) sdk.Part {
	s := sound{fault}
	type settings struct {
		K int `json:"k"`
	}
	switch kind {
	case "criterion":
		return sdk.NewCriterion("tested", settings{}, func(settings, sdk.CriterionEnv) (sdk.Criterion, error) {
			return &brokenSquares{sound: s}, nil
		})
	case "float criterion":
		return sdk.WithTargets(sdk.NumberTargets,
			sdk.NewCriterion("tested", settings{}, func(settings, sdk.CriterionEnv) (sdk.Criterion, error) {
				if s.has("no ForwardFloats") {
					return &brokenSquares{sound: s}, nil
				}
				return &floatSquares{brokenSquares: brokenSquares{sound: s}}, nil
			}))
	case "elementwise server":
		return sdk.NewElementwiseServer("tested", sdk.OnArrival, settings{},
			func(settings, sdk.ServerEnv) (sdk.ElementwiseServer, error) { return &adding{sound: s}, nil })
	case "adding server":
		return sdk.Adding(sdk.NewElementwiseServer("tested", sdk.OnLastArrival, settings{},
			func(settings, sdk.ServerEnv) (sdk.ElementwiseServer, error) { return &adding{sound: s}, nil }))
	case "server":
		return sdk.NewServer("tested", settings{}, func(_ settings, env sdk.ServerEnv) (sdk.Server, error) {
			return &collecting{sound: s, trainers: env.Trainers, pending: map[[2]int64][]sdk.Push{},
				arrived: make(chan struct{})}, nil
		})
	case "table server":
		return sdk.NewTableServer("tested", settings{}, func(settings, sdk.TableEnv) (sdk.TableServer, error) {
			return &rows{sound: s}, nil
		})
	case "data":
		return sdk.NewData("tested", settings{}, func(settings, sdk.DataEnv) (sdk.Data, error) {
			return &pair{sound: s}, nil
		})
	case "streamed data":
		return sdk.NewData("tested", settings{}, func(settings, sdk.DataEnv) (sdk.Data, error) {
			return &tape{pair{sound: s}}, nil
		})
	case "trainer":
		return sdk.NewTrainer("tested", settings{}, func(_ settings, env sdk.TrainerEnv) (sdk.Trainer, error) {
			return &stepping{sound: s, env: env}, nil
		})
	case "parameter trainer":
		return sdk.NewParameterTrainer("tested", settings{}, func(_ settings, env sdk.TrainerEnv) (sdk.Trainer, error) {
			return &stepping{sound: s, env: env, needs: sdk.ServiceParameters}, nil
		})
	case "table trainer":
		return sdk.NewTableTrainer("tested", settings{}, func(_ settings, env sdk.TrainerEnv) (sdk.Trainer, error) {
			return &lookingUp{stepping{sound: s, env: env, needs: sdk.ServiceTables}}, nil
		})
	case "hook":
		return sdk.NewHook("tested", settings{}, func(_ settings, env sdk.HookEnv) (sdk.Hook, error) {
			return &around{sound: s, to: env.Group}, nil
		}, sdk.LinkGroup)
	}
	return sdk.NewModel("tested", settings{}, func(v settings, _ sdk.ModelEnv) (sdk.Model, error) {
		if v.K < 0 && !s.has("a setting out of range") {
			return nil, errors.New("setting k is below 0")
		}
		return &brokenMatrix{sound: s}, nil
	})
}

// The intended point detects each fault. Parts without a fault pass all points.
func TestBrokenParts(t *testing.T) {
	for _, c := range []struct{ kind, fault, point string }{
		{"criterion", "", ""},
		{"criterion", "a loss that is not finite for one sample", "sizes"},
		{"criterion", "an output that is overwritten", "output"},
		{"criterion", "targets that are overwritten", "output"},
		{"criterion", "a value behind the end of the gradient", "memory"},
		{"criterion", "a gradient of half its length", "gradient"},
		{"criterion", "a sum in the place of a mean", "mean"},
		{"criterion", "a loss that counts its calls", "again"},
		{"float criterion", "", ""},
		{"float criterion", "no ForwardFloats", "float targets"},
		{"float criterion", "a gradient of whole numbers", "float targets"},
		{"float criterion", "another loss of classes", "float targets"},
		{"elementwise server", "", ""},
		{"elementwise server", "the gradients of others are overwritten", "memory"},
		{"elementwise server", "an answer that depends on the place in the block", "blocks"},
		{"elementwise server", "a median of what is there", "arrivals"},
		{"elementwise server", "the mean of the last two", "arrivals"},
		{"elementwise server", "a panic", "answers"},
		{"adding server", "", ""},
		{"adding server", "a median of what is there", "adds"},
		{"server", "", ""},
		{"server", "Receive waits for the last trainer", "once"},
		{"server", "two answers", "once"},
		{"server", "a panic", "once"},
		{"server", "no answer", "answers"},
		{"server", "another answer than it says", "answers"},
		{"server", "each trainer has another answer", "equal"},
		{"server", "something is kept over a reset", "reset"},
		{"server", "an answer after its pass", "late"},
		{"table server", "", ""},
		{"table server", "columns of another table", "lookup"},
		{"table server", "a bag of its first row", "lookup"},
		{"table server", "a row counts once in a bag", "lookup"},
		{"table server", "a row that no bag held", "update"},
		{"table server", "the last bag alone is applied", "update"},
		{"table server", "a gradient counts once for a bag", "update"},
		{"table server", "a gradient counts once for a call", "update"},
		{"table server", "a panic", "update"},
		{"table server", "bags of whoever asked last", "ranks"},
		{"table server", "a table that is not reset", "reset"},
		{"hook", "", ""},
		{"hook", "no future", "answers"},
		{"hook", "a future that never is done", "answers"},
		{"hook", "an answer that it does not say", "answers"},
		{"hook", "a gradient without rows", "sparse"},
		{"hook", "each rank keeps its own", "equal"},
		{"hook", "an error that is fed back over a reset", "reset"},
		{"hook", "a bucket that is written late", "settled or equal"},
		{"hook", "an empty bucket that it cannot take", "answers"},
		{"hook", "a value behind the end of a bucket", "memory"},
		{"hook", "an error that is hidden", "ends"},
		{"hook", "a goroutine that stays", "leftovers"},
		{"hook", "a file that stays open", "leftovers"},
		{"data", "", ""},
		{"data", "a target that is missing", "samples"},
		{"data", "an index below 0", "samples"},
		{"data", "other samples each time", "again"},
		{"streamed data", "", ""},
		{"streamed data", "Skip does nothing", "stream"},
		{"trainer", "", ""},
		{"trainer", "a plan of each rank's own", "plan"},
		{"trainer", "one epoch of two", "trains"},
		{"trainer", "a gradient of the loss before", "order"},
		{"trainer", "gradients that are overwritten while they are reduced", "order"},
		{"trainer", "buckets from the last to the first", "order"},
		{"trainer", "parameters that are not reset", "reset"},
		{"trainer", "gradients that are not reduced", "equal"},
		{"trainer", "a context that is not looked at", "ends"},
		{"parameter trainer", "", ""},
		{"parameter trainer", "one epoch of two", "trains"},
		{"parameter trainer", "a context that is not looked at", "ends"},
		{"table trainer", "", ""},
		{"table trainer", "parameters that are not reset", "reset"},
		{"table trainer", "gradients that are not reduced", "equal"},
		{"model", "", ""},
		{"model", "a setting out of range", "settings"},
		{"model", "a value behind the end of a gradient", "memory"},
		{"model", "a gradient that is emitted twice", "emits"},
		{"model", "a gradient that is not emitted", "emits"},
		{"model", "an odd batch is refused", "sizes"},
		{"model", "a huge batch is refused", "sizes"},
		{"model", "a gradient that changes once it is emitted", "emits"},
		{"model", "a parameter that is written", "reads"},
		{"model", "a batch that is written", "reads"},
		{"model", "gradients that add up", "overwrites"},
		{"model", "initial values by chance", "initial"},
		{"model", "a value that is not initialized", "initial"},
		{"model", "something is kept over Initialize", "reset"},
		{"model", "a gradient that is too long", "gradient"},
		{"model", "a gradient that is zero", "gradient"},
		{"model", "a gradient most of which is zero", "gradient"},
	} {
		t.Run(c.kind+" with "+c.fault, func(t *testing.T) {
			s := &harness.Subject{Part: of(c.kind, c.fault), Timeout: 3 * time.Second}
			switch c.fault {
			// these cases wait for a timeout
			case "Receive waits for the last trainer", "no answer", "a future that never is done":
				s.Timeout = time.Second
			}
			if c.kind == "model" {
				s.Refused = []string{`{"k": -1}`}
			}
			caught, err := "", error(nil)
			for _, p := range Of(s) {
				var unseen harness.NotSeen
				if err = p.Check(s); err != nil && !errors.As(err, &unseen) {
					caught = p.Name
					break
				}
			}
			if !slices.Contains(strings.Split(c.point, " or "), caught) {
				t.Errorf("it is caught by %q, want %q: %v", caught, c.point, err)
			} else {
				t.Log(err)
			}
		})
	}
}
