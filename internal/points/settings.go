package points

import (
	"fmt"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

// refusesSettings holds of every kind. What is out of range the author alone knows.
var refusesSettings = Point{
	Name:    "settings",
	Promise: "settings that there are not, of another type or out of range are refused with an error",
	alone: func(s *Subject) error {
		wrong := append([]string{`{"there_is_no_such_setting": 1}`}, s.Refused...)
		for _, setting := range s.Part.Settings {
			wrong = append(wrong, fmt.Sprintf(`{%q: {"of": "no type that it has"}}`, setting.Name))
		}
		for _, settings := range wrong {
			if _, err := s.build([]byte(settings)); err == nil {
				return fmt.Errorf("it is built with the settings %s", settings)
			}
		}
		return nil
	},
}

// withoutRange is that point where nobody says what the part must refuse.
const withoutRange = "settings that there are not, or of another type, are refused with an error"

// build makes the part in an environment of its kind that has no links.
func (s *Subject) build(settings []byte) (any, error) {
	return s.buildIn(settings, s.environment())
}

func (s *Subject) buildIn(settings []byte, env any) (any, error) {
	return s.panics.around(s.Part).Build(settings, env)
}

// environment is one of the part's kind.
func (s *Subject) environment() any {
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
