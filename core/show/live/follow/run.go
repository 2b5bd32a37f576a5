package follow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/core/plan/config/option"
	"github.com/psbench/psbench/core/process/monitor"
	"github.com/psbench/psbench/core/record/folder"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/core/show/progress"
	"github.com/psbench/psbench/core/show/view"
	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/sdk"
)

// Run shows one run while it goes on. A nil Run shows nothing.
type Run struct {
	*runs
	out string // the run's output folder; "" if there is none
}

// NewRun starts a live page for a run and writes its address to w. If opts do not request a live page, NewRun returns
// nil.
func NewRun(w io.Writer, exp *config.Experiment, opts option.Options) (*Run, error) {
	if !opts.Live {
		return nil, nil
	}
	name := "run"
	if opts.Out != "" {
		name = filepath.Base(opts.Out)
	}
	l, err := open(w, name, 1)
	if err != nil {
		return nil, err
	}
	l.now.Running = &view.Running{Cell: -1, Name: "trainer " + exp.Parts[sdk.KindTrainer].Key, Phase: "starting"}
	return &Run{l, opts.Out}, nil
}

// Follow shows the progress that p receives.
func (l *Run) Follow(p *progress.Progress) {
	if l != nil {
		l.follow(p, p.Beat)
	}
}

// Result shows the result on the page. Without --out, Result writes the result to a temporary folder for this
// purpose.
func (l *Run) Result(r *result.Result) (err error) {
	if l == nil {
		return nil
	}
	dir := l.out
	if dir == "" {
		temp, err := os.MkdirTemp("", "psbench-live-")
		if err != nil {
			return fmt.Errorf("the live page cannot show the result: %w", err)
		}
		defer func() { _ = os.RemoveAll(temp) }()
		dir = filepath.Join(temp, "run")
		f, err := folder.Create(dir)
		if err == nil {
			err = f.Write(r)
		}
		if err != nil {
			return fmt.Errorf("the live page cannot show the result: %w", err)
		}
	}
	if err := l.show(view.NewMaker(new(model.Loader), dir, view.Options{})); err != nil {
		return fmt.Errorf("the live page cannot show the result: %w", err)
	}
	return nil
}

// End stops the page. The parameter err is how the run ended.
func (l *Run) End(ctx context.Context, err error) error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	switch {
	case err == nil:
		l.now.Done, l.now.Left = 1, 0
	case !errors.Is(err, monitor.ErrInterrupted):
		l.now.Failed, l.now.Left = 1, 0
	}
	l.mu.Unlock()
	return l.close(ctx, err)
}
