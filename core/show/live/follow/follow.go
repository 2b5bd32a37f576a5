// Package follow shows runs while they go on: a live page for browsers, and a board on the terminal.
package follow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/psbench/psbench/core/process/monitor"
	"github.com/psbench/psbench/core/show/live"
	"github.com/psbench/psbench/core/show/page"
	"github.com/psbench/psbench/core/show/progress"
	"github.com/psbench/psbench/core/show/view"
	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/internal/interrupt"
)

// runs publishes the runs of one command on a live page and on a terminal board. A nil runs shows nothing.
type runs struct {
	server   *live.Server
	progress *progress.Progress // has the board
	began    time.Time
	quit     chan struct{}
	owned    sync.WaitGroup

	mu    sync.Mutex
	now   view.Live
	at    time.Time // when SecondsLeft was set
	board progress.Board
}

// open starts the server of a page for count runs and writes its address to w. The page's title is name.
func open(w io.Writer, name string, count int) (*runs, error) {
	d, err := view.Of(&model.Study{Name: name, Metric: model.Throughput}, view.Options{})
	if err != nil {
		return nil, err
	}
	l := &runs{began: time.Now(), quit: make(chan struct{}), now: view.Live{Left: count}}
	d.Heading = name + ": nothing has ended yet"
	d.Live = &view.Live{Left: count}
	l.server, err = live.Start(d, live.Options{Page: page.Write, Policy: page.Policy(true)})
	if err != nil {
		return nil, err
	}
	_, _ = fmt.Fprintf(w, "live page: %s\n", l.server.URL())
	return l, nil
}

// follow publishes the progress once a second until close. If beat is not nil, follow calls it each second for the
// progress of the current run.
func (l *runs) follow(p *progress.Progress, beat func() monitor.Beat) {
	if l == nil {
		return
	}
	l.progress = p
	p.Board(l.board)
	resumed := make(chan os.Signal, 1)
	signal.Notify(resumed, syscall.SIGCONT)
	l.owned.Go(func() {
		defer signal.Stop(resumed)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-l.quit:
				return
			case <-resumed:
				p.Resumed()
			case <-tick.C:
				if beat != nil {
					l.beat(beat())
				} else {
					l.tell(func() {})
				}
			}
		}
	})
}

// mostRates is the number of throughput values on the board, one for each second.
const mostRates = 40

// beat publishes the progress b of the current run.
func (l *runs) beat(b monitor.Beat) {
	l.tell(func() {
		if l.now.Running == nil {
			return // b arrived after its run had ended
		}
		r := *l.now.Running // a copy, because readers may still use the previous value
		r.Phase, r.Iterations, r.Of, r.Rate, r.Loss = b.Phase, int(b.Iterations), int(b.Of), b.Rate, b.Loss
		l.now.Running, l.board.Now = &r, b
		if l.board.Runs == 0 && b.SecondsLeft != nil { // for a single run
			l.now.SecondsLeft, l.at = b.SecondsLeft, time.Now()
		}
		if b.Rate > 0 {
			l.board.Rates = append(l.board.Rates[max(0,
				len(l.board.Rates)+1-mostRates):len(l.board.Rates):len(l.board.Rates)], b.Rate)
		}
	})
}

// tell updates the state by calling change, then publishes it.
func (l *runs) tell(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
	now := l.now
	now.Seconds = time.Since(l.began).Seconds()
	if now.SecondsLeft != nil {
		left := max(0, *now.SecondsLeft-time.Since(l.at).Seconds())
		now.SecondsLeft = &left
		l.board.Left = time.Duration(left * float64(time.Second))
	}
	l.server.Tell(now)
	l.progress.Board(l.board)
}

// show publishes the current content of the maker's folder.
func (l *runs) show(m *view.Maker) error {
	l.mu.Lock()
	now := l.now
	l.mu.Unlock()
	d, err := m.Document(&now)
	if err != nil {
		return err
	}
	l.mu.Lock()
	l.board.Medians, l.board.Cells, l.board.CellsDone = medians(d)
	l.mu.Unlock()
	return l.server.Show(d)
}

// close publishes how the runs ended and stops the server.
func (l *runs) close(ctx context.Context, err error) error {
	if l == nil {
		return nil
	}
	defer interrupt.Bounded(ctx)() // slow readers get two seconds
	close(l.quit)
	l.owned.Wait()
	l.mu.Lock()
	now := l.now
	l.mu.Unlock()
	now.Seconds, now.Running = time.Since(l.began).Seconds(), nil
	l.server.Tell(now)
	how := "it has ended"
	switch {
	case errors.Is(err, monitor.ErrInterrupted) || ctx.Err() != nil:
		how = "it was interrupted"
	case err != nil:
		how = "it ended with an error: " + err.Error()
	}
	return l.server.Close(how)
}
