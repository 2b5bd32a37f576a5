package main

import (
	"context"
	"math"
	"strconv"
	"testing"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/core/measure/run"
	"github.com/psbench/psbench/plugins/criteria"
	"github.com/psbench/psbench/plugins/data"
	"github.com/psbench/psbench/plugins/models"
	"github.com/psbench/psbench/plugins/servers"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

// In the race, two trainers share the tables of two servers without a barrier. A lookup may or may not see the other
// trainer's last update, so no two runs are equal.
const (
	racers      = 2
	raceTables  = 2
	raceRows    = 60
	raceWidth   = 256
	raceEpochs  = 8
	raceBatches = 6
	raceSeeds   = 20
	// raceTableLR makes the tables learn as fast as the layers, whose gradients are far larger. With a lower rate, lost
	// table updates would go unnoticed.
	raceTableLR = 8.0
	// raceBound is the allowed relative difference of the mean final loss between racing trainers and trainers in
	// lockstep.
	raceBound = 0.02
)

// The training result does not depend on the winner of the race. Over 20 seeds, the mean final loss is within
// raceBound of trainers in lockstep. As a control, the comparison fails with few seeds if table updates are dropped,
// or if the dense gradients are not averaged.
func TestRacingHybridTrainersLearnTheSame(t *testing.T) {
	const few = 5
	seeds := raceSeeds
	switch {
	case raceDetector:
		seeds = 1 // enough for the race detector; other builds check the statistics
	case testing.Short():
		seeds = few
	}
	lockstep := make([]float64, seeds)
	for seed := range lockstep {
		lockstep[seed] = newLockstep(t, uint64(seed)).train(t)
	}
	dropping := foreignPlugin(t, "dropping")
	for name, c := range map[string]struct {
		flags []string
		agree bool
	}{
		"as they are":                  {[]string{"--server", "embedding"}, true},
		"updates dropped":              {[]string{"--server", "dropping", "--registry", dropping}, false},
		"dense gradients not averaged": {[]string{"--server", "embedding", "--ddp-hook", "noop"}, false},
	} {
		if raceDetector && !c.agree {
			continue
		}
		t.Run(name, func(t *testing.T) {
			lockstep := lockstep
			if !c.agree {
				lockstep = lockstep[:few]
			}
			var deviation float64
			for seed, want := range lockstep {
				deviation += (finalLoss(t, uint64(seed), c.flags) - want) / want / float64(len(lockstep))
			}
			t.Logf("the mean final loss deviates by %+.2f %%", 100*deviation)
			if agree := math.Abs(deviation) <= raceBound; agree != c.agree {
				t.Errorf(
					"the mean final loss of %d seeds deviates by %+.1f %% from lockstep, where %.0f %% are allowed",
					len(lockstep), 100*deviation, 100*raceBound)
			}
		})
	}
}

// finalLoss runs the race with real processes and returns the mean loss of the last epoch.
func finalLoss(t *testing.T, seed uint64, flags []string) float64 {
	t.Helper()
	flags = append([]string{
		"--trainer", "hybrid", "--ntrainer", strconv.Itoa(racers), "--nserver", strconv.Itoa(raceTables),
		"--epochs", strconv.Itoa(raceEpochs), "--warmup", "none", "--torch-seed", strconv.FormatUint(seed, 10),
		"--set", "server.num_embeddings=" + strconv.Itoa(raceRows), "--set",
		"server.embedding_dim=" + strconv.Itoa(raceWidth),
		"--set", "server.lr=" + strconv.FormatFloat(raceTableLR, 'g', -1, 64),
		"--set", "data.num_embeddings=" + strconv.Itoa(raceRows), "--set", "data.batches=" + strconv.Itoa(raceBatches),
	}, flags...)
	res, err := run.Run(context.Background(), resolved(t, flags...), run.Options{Progress: run.Silent})
	if err != nil {
		t.Fatal(err)
	}
	var sum float64
	for _, losses := range res.Losses {
		if len(losses) != raceEpochs*raceBatches {
			t.Fatalf("a trainer ran %d iterations", len(losses))
		}
		for _, loss := range losses[len(losses)-raceBatches:] {
			sum += loss
		}
	}
	return sum / (racers * raceBatches)
}

// lockstep is the same training in one process. All trainers look up before any of them updates.
type lockstep struct {
	batches   []sdk.Batch
	tables    []sdk.TableServer
	model     sdk.FeatureModel
	criterion sdk.Criterion
	values    []tensor.Tensor
	gradients []*tensor.Gradient
}

func newLockstep(t *testing.T, seed uint64) *lockstep {
	t.Helper()
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	s := data.DefaultBags
	s.Batches, s.NumEmbeddings = raceBatches, raceRows
	bags, err := data.NewBags(s, sdk.DataEnv{Seed: seed, Trainers: racers})
	must(err)
	samples, err := bags.Load()
	must(err)
	l := &lockstep{batches: cut(samples)}
	e := servers.DefaultEmbedding
	e.NumEmbeddings, e.EmbeddingDim, e.LR = raceRows, raceWidth, raceTableLR
	for position := range raceTables {
		table, err := servers.NewEmbedding(e,
			sdk.TableEnv{Position: position, Seed: seed, Recorder: &sdk.Recorder{}, Engine: engine.Host})
		must(err)
		table.Reset()
		l.tables = append(l.tables, table)
	}
	m := models.MLPSettings{Sizes: []int{512, 256, 128, 64, 32, 8}, Output: models.Linear, ReLUAfter: []int{2},
		BLAS: "gonum"}
	model, err := models.NewMLP(m, sdk.ModelEnv{MaxBatch: 64, FirstTensor: raceTables, Engine: engine.Host})
	must(err)
	l.model = model.(sdk.FeatureModel)
	for _, p := range model.Parameters() {
		l.values = append(l.values, tensor.New(p.Shape...))
		l.gradients = append(l.gradients, &tensor.Gradient{Values: make([]float32, tensor.Elements(p.Shape))})
	}
	must(model.Bind(l.values, l.gradients))
	model.Initialize(seed)
	l.criterion, err = criteria.NewCrossEntropy(struct{}{}, sdk.CriterionEnv{MaxBatch: 64, Engine: engine.Host})
	must(err)
	return l
}

// cut splits samples into batches.
func cut(samples *sdk.Samples) []sdk.Batch {
	var out []sdk.Batch
	at := 0
	for _, size := range samples.Batches {
		var b sdk.Batch
		for range size {
			b.Append(samples.Bag(at), samples.Targets[at])
			at++
		}
		out = append(out, b)
	}
	return out
}

// train trains the model and returns the mean loss of the last epoch.
func (l *lockstep) train(t *testing.T) float64 {
	var last float64
	for range raceEpochs {
		last = 0
		for step := 0; step < len(l.batches); step += racers {
			last += l.step(t, l.batches[step:step+racers])
		}
	}
	return last / float64(len(l.batches))
}

// step trains on one batch per trainer and returns the sum of the losses.
func (l *lockstep) step(t *testing.T, batches []sdk.Batch) (loss float64) {
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	mean := make([][]float32, len(l.values))
	inputs := make([][]float32, len(batches))
	for r := range batches {
		b := &batches[r]
		x := make([]float32, b.Size()*raceTables*raceWidth)
		l.call(t, b, x, false, r)
		inputs[r] = x
	}
	for r := range batches {
		b := &batches[r]
		output, err := l.model.Forward(&sdk.Batch{Features: inputs[r], Targets: b.Targets})
		must(err)
		batchLoss, err := l.criterion.Forward(output, b.Targets)
		must(err)
		loss += batchLoss
		gradient := tensor.New(output.Shape...)
		must(l.criterion.Backward(gradient))
		must(l.model.BackwardInput(gradient, inputs[r], func(int) {}))
		for k, g := range l.gradients {
			if mean[k] == nil {
				mean[k] = make([]float32, len(g.Values))
			}
			for i, v := range g.Values {
				mean[k][i] += v / racers
			}
		}
	}
	for r := range batches {
		l.call(t, &batches[r], inputs[r], true, r)
	}
	for k, v := range l.values {
		for i, g := range mean[k] {
			v.Data[i] -= 0.05 * g
		}
	}
	return loss
}

// call looks up the columns of x in all tables. If update is true, it updates the tables with x instead.
func (l *lockstep) call(t *testing.T, b *sdk.Batch, x []float32, update bool, trainer int) {
	for k, table := range l.tables {
		part := make([]float32, b.Size()*raceWidth)
		for i := range b.Size() {
			copy(part[i*raceWidth:], x[(i*raceTables+k)*raceWidth:][:raceWidth])
		}
		c := &comm.TableCall{Trainer: trainer, Update: update, Offsets: b.Offsets, Indices: b.Indices, Values: part,
			Stride: raceWidth, Width: raceWidth}
		do := table.Lookup
		if update {
			do = table.Update
		}
		if err := do(c); err != nil {
			t.Fatal(err)
		}
		if update {
			continue
		}
		for i := range b.Size() {
			copy(x[(i*raceTables+k)*raceWidth:], part[i*raceWidth:(i+1)*raceWidth])
		}
	}
}
