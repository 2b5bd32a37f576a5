package conduct

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/psbench/psbench/core/record/folder"
	"github.com/psbench/psbench/core/study/sweep"
	"github.com/psbench/psbench/core/study/sweep/journal"
	"github.com/psbench/psbench/internal/draft"
	"github.com/psbench/psbench/internal/quote"
)

// journalName is the folder within the sweep folder that holds the journals.
const journalName = "journal"

// Entry is one run of a plan with its state.
type Entry struct {
	sweep.Turn
	journal.Run
	// Adopted means that the run is complete but no journal says so. Its psbench was killed before it wrote the event.
	Adopted bool
	// Lost means that a journal says the run is done, but the run folder has no complete result. Reason says what is
	// wrong.
	Lost bool
}

// Account lists all runs of a plan in the order in which the plan runs them.
type Account []Entry

// accountOf returns the state of every run from the journals and the run folders. A run is done if its folder has a
// complete result, whatever the journals say. The state Running does not prove that a process runs: the caller must
// check whether a psbench still works on the sweep.
func accountOf(dir string, p *sweep.Plan, events []journal.Event) (Account, error) {
	runs := journal.Runs(events)
	account := make(Account, 0, p.Runs())
	for round := range p.Repeats {
		for _, t := range p.Turns(round) {
			e := Entry{Turn: t, Run: runs[t.ID()]}
			if e.State == "" {
				e.State = journal.Waiting
			}
			wrong, err := incomplete(filepath.Join(dir, t.Folder))
			if err != nil {
				return nil, err
			}
			switch {
			case wrong == "" && e.State != journal.Done:
				e.State, e.Reason, e.Adopted = journal.Done, "", true
			case wrong != "" && e.State == journal.Done:
				e.State, e.Reason, e.Lost = journal.Waiting, wrong, true
			}
			account = append(account, e)
		}
	}
	return account, nil
}

// incomplete returns the reason why a run folder has no complete result, or "" if it has one. If the folder cannot be
// read, incomplete returns an error: the run may be complete and must not run again.
func incomplete(dir string) (wrong string, err error) {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) { // #nosec G703 -- the user names the folder
		return "its folder is gone", nil
	} else if err != nil {
		return "", fmt.Errorf("the run folder %s cannot be read: %w", quote.Word(dir), draft.Cause(err))
	}
	if !folder.IsRun(dir) {
		return "its folder is no run's any more", nil
	}
	status, err := folder.StatusOf(dir)
	if err == nil && !status.Complete {
		return status.Reason, nil
	}
	if err == nil {
		_, err = folder.Head(dir)
	}
	switch number := unix.Errno(0); {
	case err == nil:
		return "", nil
	case errors.As(err, &number) && !slices.Contains([]unix.Errno{unix.ENOENT, unix.ENOTDIR, unix.EISDIR}, number):
		return "", err
	}
	return err.Error(), nil
}

// Counts returns the number of runs in each state.
func (a Account) Counts() map[journal.State]int {
	counts := map[journal.State]int{}
	for _, e := range a {
		counts[e.State]++
	}
	return counts
}

// settled reports whether a run is done or failed.
func settled(s journal.State) bool { return s == journal.Done || s == journal.Failed }
