//go:build !race

package main

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"github.com/psbench/psbench/core/measure/run"
	"github.com/psbench/psbench/core/record/result"
)

// dlrmLearns are flags with which the model learns the built-in clicks in one epoch.
const dlrmLearns = "--model dlrm --epochs 1 --warmup none --set trainer.optimizer=adagrad --set trainer.lr=0.01"

// After one epoch on the built-in clicks, the log loss on the held-out rows is below the entropy of their labels. A
// predictor that knows only the label frequencies has this entropy as its loss. The test covers every hook, and
// servers that hold the tables or the whole model. As a control, the model learns nothing if the optimizer's steps
// are tiny.
func TestDLRMLearnsInOneEpoch(t *testing.T) {
	onServers := " --trainer hybrid --set tables=servers --set server.num_embeddings=260000 --set init=0.01" +
		" --set server.optimizer=adagrad --set server.lr=0.01"
	cases := map[string]string{
		"allreduce":  "--ddp-hook allreduce --nserver 0",
		"rpc":        "--ddp-hook rpc",
		"sparse_rpc": "--ddp-hook sparse_rpc",
		"hybrid":     "--ddp-hook hybrid --nserver 0",
		"noop":       "--ddp-hook noop --nserver 0",
		"tables":     "--nserver 2 --set server.embedding_dim=8" + onServers,
		// The server answers with all parameters, so this case uses small tables.
		"batch_update": "--trainer batch_update --set sparse=false --set server.optimizer=adagrad --set server.lr=0.01" +
			" --set table_rows=[500" + strings.Repeat(",500", 25) + "]",
	}
	trainers := []int{1, 4}
	if testing.Short() {
		cases, trainers = map[string]string{"sparse_rpc": cases["sparse_rpc"], "tables": cases["tables"]}, trainers[1:]
	}
	for name, flags := range cases {
		for _, n := range trainers {
			if n == 1 && strings.HasPrefix(flags, "--ddp-hook") && name != "noop" {
				continue // a single trainer has no partner to average with
			}
			t.Run(name+"/"+strconv.Itoa(n), func(t *testing.T) {
				epochs := evaluated(t, learning(flags)+" --ntrainer "+strconv.Itoa(n))
				if len(epochs) != 1 || epochs[0].Samples != 2000 || epochs[0].AUC == nil {
					t.Fatalf("the evaluation is %+v", epochs)
				}
				e := epochs[0]
				t.Logf("loss %.4f, accuracy %.3f, AUC %.3f, entropy of the labels %.4f", e.Loss, *e.Accuracy, *e.AUC,
					*e.BaseEntropy)
				if !(e.Loss < *e.BaseEntropy) || *e.AUC < 0.7 {
					t.Errorf("the log loss is %.4f with an AUC of %.3f, where the entropy of the labels is %.4f",
						e.Loss, *e.AUC, *e.BaseEntropy)
				}
			})
		}
	}
	t.Run("no steps", func(t *testing.T) {
		e := evaluated(t, dlrmLearns+" --set trainer.lr=1e-9")[0]
		if e.Loss < *e.BaseEntropy {
			t.Errorf("a model that does not learn has a log loss of %.4f, where the entropy of the labels is %.4f",
				e.Loss, *e.BaseEntropy)
		}
	})
}

// learning returns the flags for learning, followed by other flags, in the form that the trainer expects.
func learning(flags string) string {
	if strings.Contains(flags, "batch_update") {
		return "--model dlrm --epochs 1 --warmup none " + flags
	}
	return dlrmLearns + " " + flags
}

// An mlp learns the built-in digits, both with log-probabilities and with logits.
func TestPerceptronLearnsDigits(t *testing.T) {
	for name, flags := range map[string]string{
		"cel": "--create-criterion cel",
		"nll": "--create-criterion nll --set model.output=log_softmax",
	} {
		t.Run(name, func(t *testing.T) {
			epochs := evaluated(t,
				"--model MNIST --data DigitSample --epochs 5 --warmup none --batch-size 32 --set trainer.lr=0.1 --set momentum=0.9 "+flags)
			first, last := epochs[0], epochs[len(epochs)-1]
			t.Logf("accuracy %.3f, then %.3f", *first.Accuracy, *last.Accuracy)
			if len(epochs) != 5 || *last.Accuracy < 0.9 || last.Loss >= first.Loss || last.AUC != nil {
				t.Errorf("five epochs give %+v", last)
			}
		})
	}
}

// evaluated runs an experiment and returns the evaluations on held-out samples.
func evaluated(t *testing.T, flags string) []result.Evaluation {
	t.Helper()
	res, err := run.Run(context.Background(), resolved(t, strings.Fields(flags)...), run.Options{Progress: run.Silent})
	if err != nil {
		t.Fatal(err)
	}
	return res.Evaluation
}
