package harness

import (
	"cmp"
	"time"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/internal/points/toys"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

// Subject is the part that is tested and what is known of it.
type Subject struct {
	Part        sdk.Part
	Settings    []byte   // a JSON object; nil: its defaults
	Refused     []string // settings that it must refuse
	RanksDiffer bool     // its results may differ from rank to rank
	DenseOnly   bool     // it is not made for sparse gradients
	Timeout     time.Duration
	InTrainer   map[sdk.Kind]string // keys that a trainer is to choose
	Inputs      *sdk.InputSpec      // what data is made for; nil: of several the first that it takes
	Largest     int                 // samples of the largest batch; 0: as many as the point says
	// Expect is what a hook or server is to answer, in the place of what it declares; "": that.
	Expect sdk.Answers

	panics panics // of what is built
}

// Patience is how long the part may take over anything.
func (s *Subject) Patience() time.Duration { return cmp.Or(s.Timeout, 10*time.Second) }

// BuiltWith is the settings that the part is built with.
func (s *Subject) BuiltWith() []byte {
	if s.Settings == nil {
		return []byte("{}")
	}
	return s.Settings
}

// GetsDense says that the part gets no sparse gradients.
func (s *Subject) GetsDense() bool { return s.DenseOnly || s.Part.Serves == sdk.ServiceParameters }

// samples returns the size of the largest batch.
func (s *Subject) samples(p Point) int {
	n := cmp.Or(p.Samples, MaxBatch)
	if s.Largest > 0 {
		n = min(n, s.Largest)
	}
	return n
}

// choice is the part that is tested.
func (s *Subject) choice() process.Choice {
	return process.Choice{Kind: s.Part.Kind, Key: s.Part.Key, Settings: s.BuiltWith()}
}

// kit is a part that the tested one is tried with.
func kit(part sdk.Part) process.Choice {
	return process.Choice{Kind: part.Kind, Key: part.Key, Settings: []byte("{}")}
}

// Buckets are those that the part is tried with, one for each parameter of Sizes, and one that is
// empty.
func (s *Subject) Buckets(large bool) []tensor.BucketSpec {
	var list []tensor.BucketSpec
	for i, p := range (&toys.Sizes{DenseOnly: s.GetsDense(), Large: large}).Parameters() {
		capacity := 9
		if large {
			capacity = allRows
		}
		list = append(list, bucketOf(i, p, capacity))
	}
	return append(list, tensor.BucketSpec{Index: len(list)})
}

// allRows is the capacity of a sparse bucket that holds its whole table.
const allRows = 0

// bucketOf is the bucket of one parameter. Capacity bounds the rows of a sparse one.
func bucketOf(k int, p sdk.ParameterSpec, capacity int) tensor.BucketSpec {
	n := tensor.Elements(p.Shape)
	b := tensor.BucketSpec{Index: k, Elements: n, Parameters: []tensor.Span{{Parameter: k, Elements: n}}}
	if p.Sparse {
		b.Sparse, b.TableRows, b.Width, b.Capacity = true, p.Shape[0], p.Shape[1], cmp.Or(capacity, p.Shape[0])
	}
	return b
}

// Build makes the part in an environment of its kind that has no links.
func (s *Subject) Build(settings []byte) (any, error) {
	return s.BuildIn(settings, s.Environment())
}

// BuildIn makes the part in an environment.
func (s *Subject) BuildIn(settings []byte, env any) (any, error) {
	return s.panics.around(s.Part).Build(settings, env)
}

// Environment is one of the part's kind.
func (s *Subject) Environment() any {
	r := &sdk.Recorder{}
	buckets := []tensor.BucketSpec{{Elements: 7, Parameters: []tensor.Span{{Elements: 7}}}}
	switch s.Part.Kind {
	case sdk.KindServer:
		if s.Part.Serves == sdk.ServiceTables {
			return sdk.TableEnv{Rank: 1, Name: "server1", Trainers: 1, Recorder: r, Engine: engine.Host}
		}
		return sdk.ServerEnv{Rank: 1, Name: "server1", Trainers: 1, Buckets: buckets, Recorder: r, Engine: engine.Host}
	case sdk.KindHook:
		return sdk.HookEnv{Name: "trainer0", Trainers: 1, Buckets: buckets, Recorder: r}
	case sdk.KindCriterion:
		return sdk.CriterionEnv{MaxBatch: 8, Recorder: r, Engine: engine.Host}
	case sdk.KindModel:
		return sdk.ModelEnv{MaxBatch: 8, Threads: 1, Recorder: r, Engine: engine.Host}
	case sdk.KindData:
		return sdk.DataEnv{Trainers: 2, BatchSize: 8, Recorder: r}
	}
	return sdk.TrainerEnv{Name: "trainer0", Trainers: 1, Epochs: 2, Maps: map[sdk.Kind]string{}}
}
