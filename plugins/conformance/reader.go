package conformance

import (
	"context"
	"fmt"
	"hash/crc32"
	"strings"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/points"
	"github.com/psbench/psbench/internal/points/inrun"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/dataparallel"
)

// mostBatches limits the number of batches per pass that a reader reports.
const mostBatches = 4096

// reader is a trainer that checks its batches and reports a checksum of each.
type reader struct {
	env     sdk.TrainerEnv
	parts   sdk.TrainerParts
	batches []string
}

func newReader(_ struct{}, env sdk.TrainerEnv) (sdk.Trainer, error) { return &reader{env: env}, nil }

func (*reader) Plan(parameters []sdk.ParameterSpec) ([]tensor.BucketSpec, error) {
	return dataparallel.DefaultBuckets.PlanBuckets(parameters), nil
}

func (r *reader) Attach(parts sdk.TrainerParts) error {
	r.parts = parts
	return nil
}

func (r *reader) Reset() error {
	r.batches = nil
	return nil
}

func (r *reader) Train(ctx context.Context, report sdk.PassReport) error {
	for epoch := range r.env.Epochs {
		if err := dataparallel.RunEpoch(ctx, r.env.Name, epoch, r.parts, report, r.take); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) take(_ sdk.Key, b *sdk.Batch) (float64, error) {
	if err := points.CheckSamples(b); err != nil {
		return 0, err
	}
	if len(r.batches) < mostBatches {
		sum := crc32.NewIEEE()
		for _, list := range [][]int64{b.Indices, b.Offsets, b.Targets} {
			_, _ = fmt.Fprintln(sum, list) // writing to a checksum never fails
		}
		_, _ = sum.Write(tensor.Float32Bytes(b.Features))
		_, _ = sum.Write(tensor.Float32Bytes(b.FloatTargets))
		r.batches = append(r.batches, fmt.Sprintf("%08x", sum.Sum32()))
	}
	return 0, nil
}

// PassFacts implements sdk.PassDescriber.
func (r *reader) PassFacts() map[string]string {
	return map[string]string{inrun.BatchesFact: strings.Join(r.batches, " ")}
}
