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

// journalName is the folder of the journals in that of a sweep.
const journalName = "journal"

// Entry is one run of a plan and what has become of it.
type Entry struct {
	sweep.Turn
	journal.Run
	// Adopted says that the run is complete though no journal says so: whoever ran it was killed
	// before it wrote that.
	Adopted bool
	// Lost says that a journal has the run as done, but its folder has no whole result; Reason says
	// what is wrong with it.
	Lost bool
}

// Account is every run of a plan, in the order in which they run.
type Account []Entry

// accountOf says where every run is, of journals and of folders: done is what both say, or what
// the folder says alone. Running is as journals have it; who asks knows whether anybody runs it.
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

// incomplete says why a run folder has no whole result, "" if it has one. What keeps it from being
// looked at is an error: nothing that may be whole is to run again.
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

// Counts is how many runs are in each state.
func (a Account) Counts() map[journal.State]int {
	counts := map[journal.State]int{}
	for _, e := range a {
		counts[e.State]++
	}
	return counts
}

// settled says that a run is not to run any more.
func settled(s journal.State) bool { return s == journal.Done || s == journal.Failed }
