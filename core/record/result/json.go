package result

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/psbench/psbench/internal/numeral"
	"github.com/psbench/psbench/internal/quote"
)

// number is a float64 that JSON can represent, whatever its value is. A loss that is not finite is a finding, and must
// not prevent the result from being written.
type number float64

func (n number) MarshalJSON() ([]byte, error) {
	if !numeral.Finite(float64(n)) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

func (n *number) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*n = number(math.NaN())
		return nil
	}
	if json.Unmarshal(data, (*float64)(n)) != nil {
		return fmt.Errorf("a loss or a parameter is %s, but must be a number or null", quote.Text(string(data)))
	}
	return nil
}

func convert[To, From ~float64](from []From) []To {
	to := make([]To, len(from))
	for i, x := range from {
		to[i] = To(x)
	}
	return to
}

// file is a Result in JSON without losses, series and gauges. These parts are written and read separately, because
// there may be any number of them. The fields of file hide the fields of plain.
type file struct {
	plain
	Losses           *struct{}    `json:"losses,omitempty"`
	Series           *struct{}    `json:"series,omitempty"`
	Gauges           *struct{}    `json:"gauges,omitempty"`
	Parameters       [][]summary  `json:"parameters,omitempty"`
	Evaluation       []evaluation `json:"evaluation,omitempty"`
	ServerParameters [][]summary  `json:"server_parameters,omitempty"`
}

type plain Result

// summary is a ParameterSummary in JSON.
type summary struct {
	plainSummary
	DeltaSum   number   `json:"delta_sum"`
	DeltaSumSq number   `json:"delta_sumsq"`
	DeltaHead  []number `json:"delta_head"`
	Head       []number `json:"head"`
}

type plainSummary ParameterSummary

// file returns r in the format of docs/result.md. In this format, lists are never null, and a parameter value that is
// not finite is null.
func (r *Result) file() file {
	f := file{plain: plain(*r)}
	f.Command = orEmpty(f.Command)
	f.Config = orEmpty(f.Config)
	f.Warnings = orEmpty(f.Warnings)
	f.Connected = orEmpty(f.Connected)
	f.Data.BatchesPerTrainer = orEmpty(f.Data.BatchesPerTrainer)
	f.Data.SamplesPerTrainer = orEmpty(f.Data.SamplesPerTrainer)
	f.Buckets = slices.Clone(orEmpty(f.Buckets))
	for i := range f.Buckets {
		f.Buckets[i].Parameters = orEmpty(f.Buckets[i].Parameters)
	}
	f.Processes = slices.Clone(orEmpty(f.Processes))
	for i := range f.Processes {
		if f.Processes[i].Facts == nil {
			f.Processes[i].Facts = map[string]string{}
		}
	}
	f.Plugins = slices.Clone(f.Plugins)
	for i := range f.Plugins {
		f.Plugins[i].Command = orEmpty(f.Plugins[i].Command)
	}
	f.Evaluation = evaluationsToFile(r.Evaluation)
	f.Parameters, f.ServerParameters = toFile(r.Parameters), toFile(r.ServerParameters)
	return f
}

// result converts a file back to a Result.
func (f *file) result() *Result {
	r := Result(f.plain)
	r.Evaluation = evaluationsFromFile(f.Evaluation)
	r.Parameters, r.ServerParameters = fromFile(f.Parameters), fromFile(f.ServerParameters)
	return &r
}

func toFile(ranks [][]ParameterSummary) (out [][]summary) {
	for _, parameters := range ranks {
		summaries := []summary{}
		for _, p := range parameters {
			summaries = append(summaries, summary{
				plainSummary(p), number(p.DeltaSum), number(p.DeltaSumSq),
				convert[number](p.DeltaHead), convert[number](p.Head),
			})
		}
		out = append(out, summaries)
	}
	return out
}

func fromFile(ranks [][]summary) (out [][]ParameterSummary) {
	for _, parameters := range ranks {
		summaries := []ParameterSummary{}
		for _, s := range parameters {
			p := ParameterSummary(s.plainSummary)
			p.DeltaSum, p.DeltaSumSq = float64(s.DeltaSum), float64(s.DeltaSumSq)
			p.DeltaHead, p.Head = convert[float64](s.DeltaHead), convert[float64](s.Head)
			summaries = append(summaries, p)
		}
		out = append(out, summaries)
	}
	return out
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
