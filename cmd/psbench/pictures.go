package main

import (
	"strings"

	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/core/show/sketch"
	"github.com/psbench/psbench/core/study/model"
)

// picturesFlag says whether psbench show draws: by default on a terminal alone, so that what others read stays as it is.
type picturesFlag struct{ given, on bool }

// style is how pictures are drawn; false if none are.
func (a *app) style(f picturesFlag) (sketch.Style, bool) {
	out := a.stdout
	if o, ok := out.(*output); ok {
		out = o.w
	}
	terminal := isTerminal(out)
	return sketch.Style{
		Width:  widthOf(a.stdout),
		Colour: terminal && a.variable("NO_COLOR") == "" && a.variable("TERM") != "dumb",
		ASCII:  !a.showsUTF8(),
	}, f.on || !f.given && terminal
}

// showsUTF8 says whether the locale has more than ASCII. Where none is set, nobody knows, and psbench writes UTF-8.
func (a *app) showsUTF8() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if locale := strings.ToLower(a.variable(name)); locale != "" {
			return strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8")
		}
	}
	return true
}

// drawRun draws the iterations of a run.
func (a *app) drawRun(r *result.Result, f picturesFlag) error {
	if s, ok := a.style(f); ok {
		return sketch.Iterations(a.stdout, r, s)
	}
	return nil
}

// drawStudy draws how cells scale.
func (a *app) drawStudy(s *model.Study, metric string, f picturesFlag) error {
	style, ok := a.style(f)
	if !ok {
		return nil
	}
	m, err := s.MetricOr(metric)
	if err != nil {
		return err
	}
	return sketch.Scaling(a.stdout, s, m, style)
}
