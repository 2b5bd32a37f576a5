package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/psbench/psbench/core/study/sweep"
	"github.com/psbench/psbench/core/study/sweep/conduct"
	"github.com/psbench/psbench/core/study/sweep/journal"
	"github.com/psbench/psbench/core/study/sweep/share"
	"github.com/psbench/psbench/core/study/words"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/screen"
)

func (a *app) sweepStatusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status FOLDER",
		Short: "Say how far a sweep is, what failed and who runs it",
		Long: `status reads the folder of a sweep and says how many runs are in which state, why some
failed, which cells are skipped, who runs the sweep and how long that will take. It
disturbs nobody who does.`,
		Example: lines("psbench sweep status study"),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("status takes the folder of one sweep, but %s given", given(args))
			}
			return nil
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		RunE: func(_ *cobra.Command, args []string) error {
			_, err := os.Stat(filepath.Join(args[0], sweep.PlanFile))
			if !sweep.IsSweep(args[0]) && !errors.Is(err, fs.ErrPermission) {
				return fmt.Errorf("%s is not the folder of a sweep: it has no %s", quote.Word(args[0]), sweep.PlanFile)
			}
			s, err := conduct.StatusOf(args[0])
			if err != nil {
				return err
			}
			return a.print(func(p *screen.Page) error { return printStatus(p, args[0], s) })
		},
	}
}

func printStatus(p *screen.Page, dir string, s *conduct.Status) error {
	p.Line(0, fmt.Sprintf("sweep %s: %s of %s in %s", quote.Word(dir),
		screen.Count(len(s.Account), "run"), screen.Count(len(s.Plan.Running()), "cell"),
		screen.Count(s.Plan.Repeats, "round")))
	skipped := 0
	for _, c := range s.Plan.Cells {
		if c.Skipped != "" {
			skipped++
		}
	}
	counts := s.Account.Counts()
	var states []string
	for _, state := range []journal.State{journal.Waiting, journal.Running, journal.Done, journal.Failed} {
		states = append(states, fmt.Sprintf("%d %s", counts[state], state))
	}
	p.Line(0, strings.Join(states, ", ")+"; "+screen.Count(skipped, "cell")+" "+string(journal.Skipped))
	switch {
	case s.Holder != nil:
		p.Line(0, "run by "+s.Holder.String())
	case len(s.Workers) > 0:
		for _, round := range share.Rounds(s.Workers) {
			h := s.Workers[round]
			p.Line(0, fmt.Sprintf("round %d is claimed by %s", round,
				conduct.Holder{Host: h.Host, PID: h.PID, Since: h.Since}))
		}
	case counts[journal.Waiting] > 0:
		p.Line(0, "nobody runs it; the command that began it goes on")
	}
	for _, line := range hostLines(s.Plan) {
		p.Line(0, line)
	}
	if counts[journal.Waiting] > 0 && counts[journal.Done] > 0 {
		p.Line(0, words.Early)
	}
	if s.Left > 0 {
		p.Line(0, about(s.Left.Seconds())+" left")
	}
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
	if len(failed) > 0 {
		p.Line(0, "")
		if err := p.Grid([]screen.Column{screen.Left("folder").Yields(1), screen.Left("failed"), screen.Left("reason")},
			failed, false); err != nil {
			return err
		}
	}
	for _, line := range skippedLines(s.Plan) {
		p.Line(0, line)
	}
	return nil
}
