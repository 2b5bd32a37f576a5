// Package conformance has the parts with which `psbench plugin check` tries those of others in a
// run: a trainer that carries points of the contract out in the place of training, a model of the
// sizes that hooks and servers are tried with, and data for any model. No registry names them.
package conformance

import (
	"context"
	"fmt"
	"slices"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/dataparallel"
	"github.com/psbench/psbench/sdk/plugintest/points"
)

// Key is that of all parts of this package.
const Key = "conformance"

// Parts lists the parts of this package.
func Parts() []sdk.Part {
	return []sdk.Part{
		sdk.NewTrainer(Key, trainerSettings{}, newTrainer),
		sdk.NewModel(Key, modelSettings{}, func(s modelSettings, _ sdk.ModelEnv) (sdk.Model, error) {
			return &points.Sizes{DenseOnly: s.DenseOnly}, nil
		}),
		sdk.NewData(Key, struct{}{}, func(_ struct{}, env sdk.DataEnv) (sdk.Data, error) { return &data{env: env}, nil }),
	}
}

type modelSettings struct {
	DenseOnly bool `json:"dense_only" doc:"leave the sparse parameter out"`
}

// trainerSettings say which point is carried out, and what part is tested.
type trainerSettings struct {
	Point        string   `json:"point" doc:"the point of the contract that is carried out"`
	Kind         string   `json:"kind" doc:"kind of the part that is tested"`
	Links        []string `json:"links" doc:"links of a hook that is tested"`
	Timing       int      `json:"timing" doc:"timing of a server that is tested"`
	Asynchronous bool     `json:"asynchronous" doc:"the server that is tested does not wait"`
	RanksDiffer  bool     `json:"ranks_differ" doc:"results may differ from rank to rank"`
	DenseOnly    bool     `json:"dense_only" doc:"gradients are dense"`
}

// trainer carries a point out in the first iteration of each pass.
type trainer struct {
	env   sdk.TrainerEnv
	point points.Point
	about *points.Subject
	parts sdk.TrainerParts
	rank  *points.Rank
}

func newTrainer(s trainerSettings, env sdk.TrainerEnv) (sdk.Trainer, error) {
	part := sdk.Part{Kind: sdk.Kind(s.Kind), Timing: sdk.Timing(s.Timing), Asynchronous: s.Asynchronous}
	for _, link := range s.Links {
		part.Links = append(part.Links, sdk.Link(link))
	}
	about := &points.Subject{Part: part, RanksDiffer: s.RanksDiffer, DenseOnly: s.DenseOnly}
	list := about.Points()
	i := slices.IndexFunc(list, func(p points.Point) bool { return p.Name == s.Point && p.InRun() })
	if i < 0 {
		return nil, fmt.Errorf("setting point is %q, which no point of a %s is that a run carries out", s.Point, s.Kind)
	}
	return &trainer{env: env, point: list[i], about: about}, nil
}

// Plan has a bucket for each parameter.
func (t *trainer) Plan(parameters []sdk.ParameterSpec) ([]tensor.BucketSpec, error) {
	return dataparallel.BucketSettings{BucketBytes: 1}.PlanBuckets(parameters), nil
}

func (t *trainer) Attach(parts sdk.TrainerParts) error {
	t.parts = parts
	t.rank = points.NewRank(t.about, parts, t.env.Rank, t.env.Trainers)
	t.rank.Pass, t.rank.MostSamples = -1, points.MaxBatch
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

// PassFacts implements sdk.PassDescriber: what must be the same on all ranks.
func (t *trainer) PassFacts() map[string]string { return t.rank.Told }

// data are samples that any model takes.
type data struct {
	env sdk.DataEnv
	in  sdk.InputSpec
}

func (d *data) Fit(in sdk.InputSpec) { d.in = in }

func (d *data) Load() (*sdk.Samples, error) {
	return &sdk.Samples{Batch: *points.Batch(d.in, points.Batches*d.env.Trainers*d.env.BatchSize, 0)}, nil
}
