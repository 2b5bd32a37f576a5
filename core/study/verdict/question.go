package verdict

import (
	"fmt"
	"strings"

	"github.com/psbench/psbench/core/study/judge"
	"github.com/psbench/psbench/core/study/model"
)

// Question is a user's request to compare recorded runs.
type Question struct {
	// Old and New are paths of runs or sweeps. If New is nil, Old is one sweep, whose cells are compared along Axis.
	Old, New []string
	Axis     string
	Metric   string // "" means the metric of the sweeps
	// SessionNoise is the relative change that different sessions alone may cause between runs that were measured
	// apart.
	SessionNoise float64
	// NoiseFile is the path of the file that psbench noise wrote, or "" to ignore the file. It replaces SessionNoise if
	// the file exists and all runs are from the file's machine.
	NoiseFile string
}

// Ask loads the runs of the question and compares them.
func (q Question) Ask(l *model.Loader) (*Comparison, error) {
	before, err := l.Load(q.Old)
	if err != nil {
		return nil, err
	}
	if q.New == nil {
		metric, err := model.MetricFor(q.Metric, before)
		if err != nil {
			return nil, err
		}
		return Along(before, q.Axis, metric)
	}
	after, err := l.Load(q.New)
	if err != nil {
		return nil, err
	}
	metric, err := model.MetricFor(q.Metric, before, after)
	if err != nil {
		return nil, err
	}
	apart, err := q.apart(metric.Name, before, after)
	if err != nil {
		return nil, err
	}
	return Compare(before, after, metric, apart)
}

// apart returns the floor for runs that were measured apart: the measured floor, or SessionNoise if there is none.
func (q Question) apart(metric string, studies ...*model.Study) (Apart, error) {
	measured, ok, err := measuredNoise(q.NoiseFile, metric, studies...)
	if err != nil || ok {
		return measured, err
	}
	return Apart{
		Floor:   judge.Floor{Change: q.SessionNoise},
		Against: "changes between sessions, by --session-noise; psbench noise --sessions measures it",
	}, nil
}

// UndecidedError reports that the runs cannot answer a question.
type UndecidedError struct{ error }

// FailAbove returns an error if a cell is proven worse by more than share. It returns an UndecidedError if the runs
// cannot decide this. limit is the text of share in errors.
func (c *Comparison) FailAbove(share float64, limit string) error {
	proven, open := c.Fails(share)
	switch {
	case len(proven) > 0:
		return fmt.Errorf("%s is proven worse by more than %s in %d of %d: %s",
			c.Metric.Name, limit, len(proven), len(c.Rows)+len(c.Lost), strings.Join(proven, ", "))
	case len(open) > 0:
		return UndecidedError{fmt.Errorf("the runs cannot tell whether %s is worse by more than %s in %d of %d: %s",
			c.Metric.Name, limit, len(open), len(c.Rows)+len(c.Lost), strings.Join(open, ", "))}
	}
	return nil
}
