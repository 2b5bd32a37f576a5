package listing

import (
	"fmt"
	"strings"

	"github.com/psbench/psbench/core/study/sweep/conduct"
	"github.com/psbench/psbench/core/study/sweep/journal"
	"github.com/psbench/psbench/core/study/sweep/share"
	"github.com/psbench/psbench/core/study/words"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/screen"
)

// Status writes the progress of the sweep in dir: the states of its runs, the processes that conduct it, the
// remaining time, failed runs, and why cells are skipped.
func Status(p *screen.Page, dir string, s *conduct.Status) error {
	counts := s.Account.Counts()
	stateLines(p, dir, s, counts)
	holderLines(p, s, counts[journal.Waiting])
	for _, line := range hostLines(s.Plan) {
		p.Line(0, line)
	}
	if counts[journal.Waiting] > 0 && counts[journal.Done] > 0 {
		p.Line(0, words.Early)
	}
	if s.Left > 0 {
		p.Line(0, about(s.Left.Seconds())+" left")
	}
	if err := failedRuns(p, s); err != nil {
		return err
	}
	for _, line := range skippedLines(s.Plan) {
		p.Line(0, line)
	}
	return nil
}

// stateLines writes the number of runs, in total and in each state.
func stateLines(p *screen.Page, dir string, s *conduct.Status, counts map[journal.State]int) {
	p.Line(0, fmt.Sprintf("sweep %s: %s of %s in %s", quote.Word(dir),
		screen.Count(len(s.Account), "run"), screen.Count(len(s.Plan.Running()), "cell"),
		screen.Count(s.Plan.Repeats, "round")))
	skipped := 0
	for _, c := range s.Plan.Cells {
		if c.Skipped != "" {
			skipped++
		}
	}
	var states []string
	for _, state := range []journal.State{journal.Waiting, journal.Running, journal.Done, journal.Failed} {
		states = append(states, fmt.Sprintf("%d %s", counts[state], state))
	}
	p.Line(0, strings.Join(states, ", ")+"; "+screen.Count(skipped, "cell")+" "+string(journal.Skipped))
}

// holderLines names the processes that conduct the sweep.
func holderLines(p *screen.Page, s *conduct.Status, waiting int) {
	switch {
	case s.Holder != nil:
		p.Line(0, "run by "+s.Holder.String())
	case len(s.Workers) > 0:
		for _, round := range share.Rounds(s.Workers) {
			h := s.Workers[round]
			p.Line(0, fmt.Sprintf("round %d is claimed by %s", round,
				conduct.Holder{Host: h.Host, PID: h.PID, Since: h.Since}))
		}
	case waiting > 0:
		p.Line(0, "no process runs it; the command that began it continues it")
	}
}

// failedRuns writes a line for each lost run, and a table of the failed runs.
func failedRuns(p *screen.Page, s *conduct.Status) error {
	var failed [][]string
	for _, e := range s.Account {
		if e.State == journal.Failed {
			failed = append(failed,
				[]string{e.Folder, conduct.RunName(s.Plan.Cells[e.Cell], e.Turn), quote.Message(e.Reason)})
		}
		if e.Lost {
			p.Line(0, fmt.Sprintf("%s was done and waits again: %s", e.Folder, quote.Message(e.Reason)))
		}
	}
	if len(failed) == 0 {
		return nil
	}
	p.Line(0, "")
	return p.Grid([]screen.Column{screen.Left("folder").Yields(1), screen.Left("failed"), screen.Left("reason")},
		failed, false)
}
