package conduct

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/psbench/psbench/core/study/sweep"
	"github.com/psbench/psbench/core/study/sweep/share"
	"github.com/psbench/psbench/internal/draft"
	"github.com/psbench/psbench/internal/quote"
)

// ours lists the file names that a sweep folder may contain before the plan is written.
var ours = append([]string{lockName, journalName, "cells", sweep.HostsFile, specName}, share.Names()...)

// specName is the file that holds the text of the specification.
const specName = "spec.json"

// makeFolder creates dir if it does not exist. An existing dir must be empty or a sweep folder, so that a sweep does
// not mix with other files.
func makeFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil { // #nosec G301 G703 -- as the user's umask has it
		return fmt.Errorf("the folder %s cannot be made: %w", quote.Word(dir), draft.Cause(err))
	}
	if sweep.IsSweep(dir) {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("the folder %s cannot be read: %w", quote.Word(dir), draft.Cause(err))
	}
	for _, e := range entries {
		begun := slices.ContainsFunc([]string{sweep.PlanFile, sweep.HostsFile, specName, share.Names()[0]},
			func(name string) bool { return strings.HasPrefix(e.Name(), "."+name) })
		if !slices.Contains(ours, e.Name()) && !begun {
			return fmt.Errorf("the folder %s is no sweep's but has %s in it: name one that is empty or does not exist",
				quote.Word(dir), quote.Word(e.Name()))
		}
	}
	return nil
}

// open writes the plan into the sweep folder and returns it. If the folder already has a plan, allowed decides which
// differences are accepted. The order of the first plan's runs stays the same.
func open(dir string, p *sweep.Plan, o Options) (*sweep.Plan, error) {
	now := *p
	if sweep.IsSweep(dir) {
		recorded, err := sweep.Read(dir)
		if err != nil {
			return nil, err
		}
		if err := allowed(dir, recorded, p, o.Extend); err != nil {
			return nil, err
		}
		now.Seed, now.Begun = recorded.Seed, recorded.Begun
		if now.Begun == 0 && now.Repeats > recorded.Repeats {
			now.Begun = recorded.Repeats
		}
	}
	if !o.Share {
		if err := clearDrafts(dir); err != nil {
			return nil, err
		}
	}
	if len(o.Spec) > 0 {
		if err := draft.Write(filepath.Join(dir, specName), o.Spec); err != nil {
			return nil, fmt.Errorf("%s cannot be written to the sweep %s: %w", specName, quote.Word(dir),
				draft.Cause(err))
		}
	}
	return &now, now.Write(dir)
}

// clearDrafts removes unfinished files of a psbench that was killed while replacing a file. It must not be used for
// shared sweeps, where another psbench may still be writing a draft.
func clearDrafts(dir string) error {
	for _, in := range []string{dir, filepath.Join(dir, "cells")} {
		if err := draft.Clear(in); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s cannot be cleared of drafts: %w", quote.Word(in), err)
		}
	}
	return nil
}

// allowed returns an error if the sweep with the recorded plan cannot continue with the plan now.
func allowed(dir string, recorded, now *sweep.Plan, extend bool) error {
	d := recorded.Compare(now)
	what := strings.Join(d.Lines(), "; ")
	switch {
	case d.None():
		return nil
	case !d.Extends() || now.Repeats < recorded.Repeats:
		return fmt.Errorf("the sweep %s was begun with other settings: %s; restore them, or give this sweep another folder",
			quote.Word(dir), what)
	case !extend:
		return fmt.Errorf("the sweep %s was begun with less: %s; --extend continues it with these", quote.Word(dir),
			what)
	}
	return nil
}
