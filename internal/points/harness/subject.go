package harness

import (
	"cmp"
	"time"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/internal/host/traffic"
	"github.com/psbench/psbench/internal/points/toys"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

// Subject is the tested part with all that is known about the part.
type Subject struct {
	Part        sdk.Part
	Settings    []byte   // a JSON object; nil: its defaults
	Refused     []string // settings that the part must refuse
	RanksDiffer bool     // results may differ from rank to rank
	DenseOnly   bool     // the part does not support sparse gradients
	Timeout     time.Duration
	InTrainer   map[sdk.Kind]string // keys that a trainer must choose
	Inputs      *sdk.InputSpec      // model inputs for data; nil: the first of several that the part accepts
	Largest     int                 // samples of the largest batch; 0: the number of the point
	// Expect is the answer that a hook or server must give, in place of its declared one; "": the declared one.
	Expect sdk.Answers

	panics panics // panics of the parts that were built
}

// Patience is the time limit for every operation of the part.
func (s *Subject) Patience() time.Duration { return cmp.Or(s.Timeout, 10*time.Second) }

// BuiltWith returns the settings for building the part.
func (s *Subject) BuiltWith() []byte {
	if s.Settings == nil {
		return []byte("{}")
	}
	return s.Settings
}

// GetsDense reports whether the part gets only dense gradients.
func (s *Subject) GetsDense() bool { return s.DenseOnly || s.Part.Serves == sdk.ServiceParameters }

// samples returns the size of the largest batch.
func (s *Subject) samples(p Point) int {
	n := cmp.Or(p.Samples, MaxBatch)
	if s.Largest > 0 {
		n = min(n, s.Largest)
	}
	return n
}

// choice returns the tested part.
func (s *Subject) choice() process.Choice {
	return process.Choice{Kind: s.Part.Kind, Key: s.Part.Key, Settings: s.BuiltWith()}
}

// kit returns a part that helps to test.
func kit(part sdk.Part) process.Choice {
	return process.Choice{Kind: part.Kind, Key: part.Key, Settings: []byte("{}")}
}

// Buckets returns the buckets for the tests: one for each parameter of Sizes, and an empty one
// unless a hook plans its traffic.
func (s *Subject) Buckets(large bool) []tensor.BucketSpec {
	var list []tensor.BucketSpec
	for i, p := range (&toys.Sizes{DenseOnly: s.GetsDense(), Large: large}).Parameters() {
		capacity := 9
		if large {
			capacity = allRows
		}
		list = append(list, bucketOf(i, p, capacity))
	}
	if s.Part.Plans { // runs have no empty buckets, so a plan need not expect them
		return list
	}
	return append(list, tensor.BucketSpec{Index: len(list)})
}

// allRows is the capacity of a sparse bucket that holds its whole table.
const allRows = 0

// bucketOf returns the bucket of one parameter. The capacity limits the rows of a sparse bucket.
func bucketOf(k int, p sdk.ParameterSpec, capacity int) tensor.BucketSpec {
	n := tensor.Elements(p.Shape)
	b := tensor.BucketSpec{Index: k, Elements: n, Parameters: []tensor.Span{{Parameter: k, Elements: n}}}
	if p.Sparse {
		b.Sparse, b.TableRows, b.Width, b.Capacity = true, p.Shape[0], p.Shape[1], cmp.Or(capacity, p.Shape[0])
	}
	return b
}

// Build creates the part in an environment of its kind without links.
func (s *Subject) Build(settings []byte) (any, error) {
	return s.BuildIn(settings, s.Environment())
}

// BuildIn creates the part in an environment. A hook that plans its traffic may refuse the settings when it plans.
func (s *Subject) BuildIn(settings []byte, env any) (any, error) {
	if hook, ok := env.(sdk.HookEnv); ok && s.Part.Plans {
		_, err := s.Part.Plan(settings, sdk.TrafficEnv{Name: hook.Name, Trainers: hook.Trainers, Buckets: hook.Buckets})
		if err != nil {
			return nil, err
		}
	}
	return s.panics.around(s.Part).Build(settings, env)
}

// Environment returns an environment for the part's kind.
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
		return sdk.HookEnv{Name: "trainer0", Trainers: 1, Buckets: buckets, Rounds: &traffic.Rounds{}, Recorder: r}
	case sdk.KindCriterion:
		return sdk.CriterionEnv{MaxBatch: 8, Recorder: r, Engine: engine.Host}
	case sdk.KindModel:
		return sdk.ModelEnv{MaxBatch: 8, Threads: 1, Recorder: r, Engine: engine.Host}
	case sdk.KindData:
		return sdk.DataEnv{Trainers: 2, BatchSize: 8, Recorder: r}
	}
	return sdk.TrainerEnv{Name: "trainer0", Trainers: 1, Epochs: 2, Maps: map[sdk.Kind]string{}}
}
