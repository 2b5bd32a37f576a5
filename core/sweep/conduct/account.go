package conduct

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/psbench/psbench/core/folder"
	"github.com/psbench/psbench/core/sweep"
	"github.com/psbench/psbench/core/sweep/journal"
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
	// Lost says that a journal has the run as done, but its folder is gone or not complete.
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
			complete, err := isComplete(filepath.Join(dir, t.Folder))
			if err != nil {
				return nil, err
			}
			switch {
			case complete && e.State != journal.Done:
				e.State, e.Reason, e.Adopted = journal.Done, "", true
			case !complete && e.State == journal.Done:
				e.State, e.Reason, e.Lost = journal.Waiting, "its folder is gone or not complete any more", true
			}
			account = append(account, e)
		}
	}
	return account, nil
}

// isComplete says whether a run folder has a whole result. There may be no such folder.
func isComplete(dir string) (bool, error) {
	if _, err := os.Stat(dir); err != nil { // #nosec G703 -- the user names the folder
		if errors.Is(err, os.ErrNotExist) {
			return false, nil
		}
		return false, fmt.Errorf("the run folder %w", err)
	}
	if !folder.IsRun(dir) {
		return false, nil
	}
	status, err := folder.StatusOf(dir)
	return status.Complete, err
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
