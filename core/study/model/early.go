package study

import (
	"fmt"

	"github.com/psbench/psbench/internal/screen"
)

// Early says what it costs to judge a sweep before its planned end.
const Early = "if you look early and use --extend until something is proven, 6 to 19 % of studies raise a false alarm, not 5 %"

// early says that the runs are not those that were planned at first, or not yet; "" if they are.
func (s *Study) early() string {
	switch done, _, waiting := s.counts(); {
	case done == 0:
		return ""
	case waiting > 0:
		return fmt.Sprintf("%s: %s", are(waiting, "run")+" waiting", Early)
	case s.Begun > 0:
		return fmt.Sprintf("--extend added rounds to the first %s: %s", screen.Thousands(int64(s.Begun)), Early)
	}
	return ""
}
