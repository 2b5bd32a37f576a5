package sweep

import (
	"time"

	"github.com/psbench/psbench/core/config"
)

// starting is about how long processes take to start and to end.
const starting = time.Second

// expected is about how long a run takes: 0 where only a run can tell.
func expected(exp *config.Experiment) time.Duration {
	if exp.Length.Time == 0 {
		return 0
	}
	warmUp := exp.WarmUp.Time
	return starting + exp.Length.Time + warmUp
}
