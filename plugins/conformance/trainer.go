package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/points"
	"github.com/psbench/psbench/internal/points/harness"
	"github.com/psbench/psbench/internal/points/inrun"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/dataparallel"
)

// trainer carries out a point of the contract in the first iteration of each pass.
type trainer struct {
	env   sdk.TrainerEnv
	point harness.Point
	about *harness.Subject
	parts sdk.TrainerParts
	rank  *harness.Rank
}

func newTrainer(s inrun.Settings, env sdk.TrainerEnv) (*trainer, error) {
	about := s.Subject()
	list := points.Of(about)
	i := slices.IndexFunc(list, func(p harness.Point) bool { return p.Name == s.Point && p.InRun() })
	if i < 0 {
		return nil, fmt.Errorf("setting point is %q, but a run checks no such point of a %s", s.Point, s.Kind)
	}
	return &trainer{env: env, point: list[i], about: about}, nil
}

// Plan returns one bucket for each parameter.
func (t *trainer) Plan(parameters []sdk.ParameterSpec) ([]tensor.BucketSpec, error) {
	return dataparallel.BucketSettings{BucketBytes: 1}.PlanBuckets(parameters), nil
}

func (t *trainer) Attach(parts sdk.TrainerParts) error {
	t.parts = parts
	t.rank = harness.NewRank(t.about, t.point, parts, t.env.Rank, t.env.Trainers)
	t.rank.Pass = -1
	return nil
}

func (t *trainer) Reset() error {
	t.rank.Pass++
	return nil
}

func (t *trainer) Train(ctx context.Context, report sdk.PassReport) error {
	return dataparallel.RunEpoch(ctx, t.env.Name, 0, t.parts, report, func(key sdk.Key, _ *sdk.Batch) (float64, error) {
		if key.B > 0 {
			return 0, nil
		}
		return 0, t.point.Carry(t.rank)
	})
}

// PassFacts implements sdk.PassDescriber. The facts must be the same on all ranks.
func (t *trainer) PassFacts() map[string]string { return t.rank.Told }

// lookingUp is a trainer that uses tables of servers.
type lookingUp struct{ *trainer }

func newLookingUp(s inrun.Settings, env sdk.TrainerEnv) (sdk.Trainer, error) {
	t, err := newTrainer(s, env)
	return &lookingUp{t}, err
}

// PlanInputs requests indices that every table has.
func (t *lookingUp) PlanInputs(model sdk.InputSpec, tables []comm.TableSpec) (sdk.InputSpec, error) {
	if len(tables) == 0 {
		return model, errors.New("there are no tables")
	}
	rows := tables[0].Rows
	for _, table := range tables {
		rows = min(rows, table.Rows)
	}
	return sdk.InputSpec{Rows: rows, Classes: max(2, model.Classes), Targets: 1}, nil
}
