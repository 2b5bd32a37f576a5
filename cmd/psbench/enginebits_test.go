//go:build !race

package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/psbench/psbench/core/measure/run"
	"github.com/psbench/psbench/core/record/result"
)

// Both engines give bitwise equal results with every optimizer. The comparison includes values that hosts inspect
// outside of training.
func TestAnEngineApartComputesTheSameBits(t *testing.T) {
	const small = " --nserver 0 --ddp-hook allreduce --epochs 2 --warmup none --set model.dense_layers_count=2 --set model.sparse=true"
	for _, args := range []string{
		"--set trainer.optimizer=adam" + small,
		"--set trainer.momentum=0.9 --set trainer.nesterov=true" + small,
		"--set trainer.lr=1e38" + small,
		"--trainer hybrid --ntrainer 1 --nserver 2 --epochs 2 --warmup none --set server.embedding_dim=256 --set server.optimizer=adagrad --set trainer.optimizer=adagrad",
		"--trainer batch_update --ntrainer 1 --warmup none --set server.optimizer=adam",
		"--model dlrm --data ClickSample --ntrainer 1 --ddp-hook noop --nserver 0 --iterations 20 --warmup none --set trainer.optimizer=rowwise_adagrad --set trainer.lr=0.01",
		"--model MNIST --data DigitSample --ddp-hook allreduce --nserver 0 --create-criterion nll --set model.output=log_softmax --epochs 1 --warmup none",
	} {
		t.Run(args, func(t *testing.T) {
			computed := func() (o struct {
				Losses           [][]float64
				NonFinite        []result.NonFinite
				Evaluation       []result.Evaluation
				Trainers, Server [][]result.ParameterSummary
			}) {
				t.Helper()
				res, err := run.Run(t.Context(), resolved(t, strings.Fields(args)...),
					run.Options{Progress: run.Silent, Summarize: true})
				if err != nil {
					t.Fatal(err)
				}
				o.Losses, o.NonFinite, o.Evaluation, o.Trainers, o.Server = res.Losses, res.NonFinite, res.Evaluation,
					res.Parameters, res.ServerParameters
				return o
			}
			want := computed()
			t.Setenv(testEngine, "dark")
			if d := cmp.Diff(want, computed(), cmpopts.EquateNaNs()); d != "" {
				t.Error(d)
			}
			if len(want.Losses) == 0 || len(want.Trainers) == 0 {
				t.Error("nothing was computed")
			}
		})
	}
}

// Cases also agree with other bucket sizes, and with an isolated hook, which sees the same buckets.
func TestVerifyOnAnEngineApart(t *testing.T) {
	t.Setenv(testEngine, "dark")
	verifyAll(t, "--set trainer.bucket_bytes=512")
	if !testing.Short() {
		verifyAll(t, "--transport tcp --isolate hook --set trainer.bucket_bytes=1024")
	}
}
