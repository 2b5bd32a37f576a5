// Package inrun is shared by `psbench plugin check` and psbench's own parts for checks. The package defines the
// keys of these parts and the settings that select a run's point and part.
package inrun

import (
	"reflect"
	"slices"

	"github.com/psbench/psbench/internal/points/harness"
	"github.com/psbench/psbench/sdk"
)

// The keys of psbench's parts for checks. Key is the key of most of them. DataKey belongs to the trainer that
// checks data. ParametersKey and TablesKey belong to trainers that use servers of parameters or tables.
const (
	Key           = "conformance"
	DataKey       = Key + "_data"
	ParametersKey = Key + "_parameters"
	TablesKey     = Key + "_tables"
	// OrderedKey is the key of a model, a criterion and a hook that check the order of their
	// calls. PushKey is the key of such a hook that pushes to a server.
	OrderedKey = Key + "_ordered"
	PushKey    = Key + "_push"
)

// BatchesFact is the fact that the trainer that checks data reports: checksums of a pass's batches, in order.
const BatchesFact = "batches"

// IsKey reports whether key is the key of one of psbench's parts for checks.
func IsKey(key string) bool {
	return slices.Contains([]string{Key, DataKey, ParametersKey, TablesKey, OrderedKey, PushKey}, key)
}

// Settings select the point that a trainer carries out and describe the tested part.
type Settings struct {
	Point        string   `json:"point" doc:"the point of the contract that is carried out"`
	Kind         string   `json:"kind" doc:"kind of the part that is tested"`
	Serves       string   `json:"serves" doc:"what a server that is tested serves"`
	Links        []string `json:"links" doc:"links of a hook that is tested"`
	Timing       int      `json:"timing" doc:"timing of a server that is tested"`
	Asynchronous bool     `json:"asynchronous" doc:"the server that is tested does not wait"`
	Answers      string   `json:"answers" doc:"what a hook or server that is tested declares to answer"`
	Targets      string   `json:"targets" doc:"what a criterion that is tested takes as targets"`
	RanksDiffer  bool     `json:"ranks_differ" doc:"results may differ from rank to rank"`
	DenseOnly    bool     `json:"dense_only" doc:"gradients are dense"`
	Largest      int      `json:"largest" doc:"samples of the largest batch; 0: as many as the point says"`
	Stochastic   bool     `json:"stochastic" doc:"the model that is tested draws random numbers"`
	Smallest     int      `json:"smallest" doc:"samples of the smallest batch that the model that is tested takes"`
}

// SettingsOf returns the settings that describe a subject to a run's trainer. The trainer's process does not have
// the subject's part.
func SettingsOf(s *harness.Subject, point string) Settings {
	part := s.Part
	links := []string{}
	for _, link := range part.Links {
		links = append(links, string(link))
	}
	return Settings{
		Point: point, Kind: string(part.Kind), Serves: string(part.Serves), Links: links, Timing: int(part.Timing),
		Asynchronous: part.Asynchronous, Answers: string(part.Answers), Targets: string(part.Targets),
		RanksDiffer: s.RanksDiffer || part.RanksDiffer, DenseOnly: s.DenseOnly, Largest: s.Largest,
		Stochastic: part.Stochastic, Smallest: part.SmallestBatch,
	}
}

// Subject restores the subject of SettingsOf, with the fields that a rank needs to carry out a point.
func (s Settings) Subject() *harness.Subject {
	part := sdk.Part{
		Kind: sdk.Kind(s.Kind), Serves: sdk.Service(s.Serves), Timing: sdk.Timing(s.Timing),
		Asynchronous: s.Asynchronous, Answers: sdk.Answers(s.Answers), Targets: sdk.TargetKind(s.Targets),
		Stochastic: s.Stochastic, SmallestBatch: s.Smallest,
	}
	for _, link := range s.Links {
		part.Links = append(part.Links, sdk.Link(link))
	}
	return &harness.Subject{Part: part, RanksDiffer: s.RanksDiffer, DenseOnly: s.DenseOnly, Largest: s.Largest}
}

// Values returns the settings by name, in the form of a configuration.
func (s Settings) Values() map[string]any {
	values, v := map[string]any{}, reflect.ValueOf(s)
	for i := range v.NumField() {
		values[v.Type().Field(i).Tag.Get("json")] = v.Field(i).Interface()
	}
	return values
}
