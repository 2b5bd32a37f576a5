package follow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"github.com/psbench/psbench/core/process/monitor"
	"github.com/psbench/psbench/core/show/progress"
	"github.com/psbench/psbench/core/show/view"
	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/core/study/sweep"
	"github.com/psbench/psbench/core/study/sweep/conduct"
	"github.com/psbench/psbench/core/study/sweep/journal"
)

// Sweep shows a sweep while it goes on. A nil Sweep shows nothing.
type Sweep struct {
	*runs
	maker *view.Maker
	again int // the index of the A/A cell
	shown bool
	err   error // the first error of an update of the page
}

// NewSweep starts a live page for a sweep and writes its address to w. The maker renders the sweep's folder. The
// Progress named told shows the board on the terminal.
func NewSweep(w io.Writer, dir string, p *sweep.Plan, told *progress.Progress, maker *view.Maker) (*Sweep, error) {
	l, err := open(w, cmp.Or(p.Name, filepath.Base(dir)), p.Runs())
	if err != nil {
		return nil, err
	}
	l.follow(told, nil)
	return &Sweep{runs: l, maker: maker, again: len(p.Cells)}, nil
}

// Heartbeat returns the function that receives the progress of runs; nil if the sweep is not shown.
func (l *Sweep) Heartbeat() func(monitor.Beat) {
	if l == nil {
		return nil
	}
	return l.beat
}

// End stops the page. The parameter err is how the sweep ended.
func (l *Sweep) End(ctx context.Context, err error) error {
	if l == nil {
		return nil
	}
	if l.err != nil {
		l.err = fmt.Errorf("the live page did not show all: %w", l.err)
	}
	return errors.Join(l.err, l.close(ctx, err))
}

// News records that a run has started or ended. The page is rebuilt only between runs, so the rebuild costs the runs
// no time.
func (l *Sweep) News(n conduct.News) {
	if l == nil {
		return
	}
	if n.State != journal.Running || !l.shown {
		l.shown = true
		if err := l.show(l.maker); err != nil && l.err == nil {
			l.err = err
		}
	}
	l.tell(func() {
		l.now.Done, l.now.Failed = n.Counts[journal.Done], n.Counts[journal.Failed]
		l.now.Left = n.Total - l.now.Done - l.now.Failed
		l.now.SecondsLeft, l.now.Running = nil, nil
		if left := n.Left.Seconds(); left > 0 || l.now.Left == 0 {
			l.now.SecondsLeft, l.at = &left, time.Now()
		}
		if n.State == journal.Running {
			l.now.Running = &view.Running{Cell: n.Turn.Cell, Name: n.Name(), Round: n.Round, Phase: "starting"}
			if n.Again {
				l.now.Running.Cell = l.again
			}
		}
		l.board.Runs, l.board.RunsDone, l.board.Failed, l.board.Left = n.Total, l.now.Done, l.now.Failed, n.Left
		l.board.Now.Phase = ""
	})
}

// Tell prints progress lines for a run that has started or ended.
func Tell(runs *progress.Runs, n conduct.News) {
	run := progress.OneRun{
		Number: n.Number, Total: n.Total, Name: n.Name(), SamplesPerSecond: n.SamplesPerSecond, Seconds: n.Seconds,
		Left: n.Left,
	}
	switch n.State {
	case journal.Running:
		runs.Start(run)
	case journal.Failed:
		run.Failed = n.Reason
		fallthrough
	case journal.Done:
		runs.End(run)
	}
}

// medians returns the cells' medians in the document's metric, best first. It also returns the number of cells with
// their own runs, and how many of those cells are finished.
func medians(d *view.Document) (list []progress.Median, cells, done int) {
	unit, higher := "", false
	for _, m := range d.Metrics {
		if m.Name == d.Metric {
			unit, higher = m.Unit, m.Better == string(model.Higher)
		}
	}
	estimates := d.Judged[d.Metric].Estimates
	for i, c := range d.Cells {
		switch c.State {
		case view.Skipped, view.Same:
			continue
		case view.Done, view.Failed:
			done++
		}
		cells++
		if i < len(estimates) && estimates[i] != nil && estimates[i].Median != nil {
			m := progress.Median{Cell: c.Name, Value: *estimates[i].Median, Unit: unit, Runs: estimates[i].N}
			if c.Again {
				m.Cell += " again"
			}
			list = append(list, m)
		}
	}
	slices.SortStableFunc(list, func(a, b progress.Median) int {
		switch {
		case a.Value == b.Value:
			return 0
		case (a.Value > b.Value) == higher:
			return -1
		default:
			return 1
		}
	})
	return list, cells, done
}
