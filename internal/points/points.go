// Package points defines the points of the contract of each kind of part. Some run on a rank that got its parts;
// these run alike in a test and in a trainer of a real run. The others build the part themselves.
package points

import (
	"fmt"
	"slices"

	"github.com/psbench/psbench/internal/points/harness"
	"github.com/psbench/psbench/sdk"
)

// Of lists the points of the part's kind. Points come after the points that they build on.
func Of(s *harness.Subject) []harness.Point {
	var own []harness.Point
	switch s.Part.Kind {
	case sdk.KindCriterion:
		own = criterionPoints
	case sdk.KindModel:
		own = modelPoints
	case sdk.KindHook:
		own = hookPoints(len(s.Part.Links) > 0)
	case sdk.KindServer:
		own = serverPoints(s.Part)
	case sdk.KindData:
		own = dataPoints
	case sdk.KindTrainer:
		own = trainerPoints
	}
	settings := refusesSettings
	if len(s.Refused) == 0 {
		settings.Promise = withoutRange
	}
	list := slices.Concat([]harness.Point{settings}, own, []harness.Point{leftovers(own[0])})
	return slices.DeleteFunc(list, func(p harness.Point) bool {
		return p.Sparse && s.GetsDense() || p.Agreement && !agree(s) ||
			p.Floats && s.Part.Targets.OrClasses() == sdk.ClassTargets
	})
}

// agree reports whether the part gives all ranks the same result. A part cannot if it does not wait for all ranks,
// or if it is a hook without links.
func agree(s *harness.Subject) bool {
	return !s.Part.Asynchronous && !s.Part.RanksDiffer && !s.RanksDiffer &&
		(s.Part.Kind != sdk.KindHook || len(s.Part.Links) > 0)
}

// refusesSettings is a point of every kind. Only the author of a part knows which settings are out of range.
var refusesSettings = harness.Point{
	Name:    "settings",
	Promise: "unknown settings and values of another type or out of range are refused with an error",
	Alone: func(s *harness.Subject) error {
		wrong := append([]string{`{"there_is_no_such_setting": 1}`}, s.Refused...)
		for _, setting := range s.Part.Settings {
			wrong = append(wrong, fmt.Sprintf(`{%q: {"of": "no type that it has"}}`, setting.Name))
		}
		for _, settings := range wrong {
			if _, err := s.Build([]byte(settings)); err == nil {
				return fmt.Errorf("it is built with the settings %s", settings)
			}
		}
		return nil
	},
}

// withoutRange is the requirement of refusesSettings if the author names no settings out of range.
const withoutRange = "unknown settings and values of another type are refused with an error"
