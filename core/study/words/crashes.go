package words

import (
	"fmt"

	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/core/study/verdict"
	"github.com/psbench/psbench/internal/screen"
)

// counted states how many runs of a cell have a value, and how many failed.
func counted(o *verdict.Contest, c *model.Cell, runs int) string {
	text := screen.Count(runs, "run")
	if n := verdict.TallyOf(o.Study, c).Failed; n > 0 {
		text += fmt.Sprintf(", %d more failed", n)
	}
	return text
}

// crashedText names the cells that cannot win because too many of their runs failed. It returns "" if there are none.
func crashedText(s *model.Study, contests []*verdict.Contest) string {
	var crashed []*model.Cell
	for _, o := range contests {
		crashed = append(crashed, o.Crashed...)
	}
	var names []string
	for _, c := range crashed {
		t := verdict.TallyOf(s, c)
		if len(crashed) == 1 {
			return fmt.Sprintf("%s is excluded: %d of %d of its runs failed, more than %s", c.Name, t.Failed, t.Ended,
				screen.Percent(verdict.MostFailed(s)))
		}
		names = append(names, fmt.Sprintf("%s (%d of %d)", c.Name, t.Failed, t.Ended))
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("%s are excluded: more than %s of their runs failed", named(names),
		screen.Percent(verdict.MostFailed(s)))
}

// whyBarred returns the reasons why cells cannot win.
func whyBarred(o *verdict.Contest) string {
	switch {
	case len(o.Crashed) == 0:
		return "for held-out loss"
	case len(o.Barred) == 0:
		return "for failed runs"
	}
	return "for failed runs or held-out loss"
}
