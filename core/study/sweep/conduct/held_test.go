package conduct

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/psbench/psbench/core/study/sweep"
	"github.com/psbench/psbench/core/study/sweep/journal"
)

// A sweep must keep to its first plan. An extension may add to the plan but keeps its order.
func TestPlanIsHeldTo(t *testing.T) {
	dir := t.TempDir()
	if err := Run(t.Context(), dir, planOf(t, 1, "work"), options()); err != nil {
		t.Fatal(err)
	}
	before := written(t, dir)
	o := options()
	extended := options()
	extended.Extend = true
	other := planOf(t, 1, "work")
	other.Cells[0].Config["does"] = "fail"
	other.Identify()
	for i, test := range []struct {
		plan *sweep.Plan
		o    Options
		want string
	}{
		{other, o,
			`was begun with other settings: does was "work" and is "fail" in cell cell=0 work; restore them`},
		{other, extended, "was begun with other settings: "},
		{planOf(t, 1, "fail", "work"), extended, "was begun with other settings: "},
		{planOf(t, 1, "work", "work after"), o,
			"was begun with less: added: cell cell=1 work after; --extend continues it with these"},
		{planOf(t, 2, "work"), o, "was begun with less: repeats was 1 and is 2; --extend"},
	} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			if err := Run(t.Context(), dir, test.plan, test.o); err == nil ||
				!strings.Contains(err.Error(), test.want) {
				t.Errorf("it said %v, want %s", err, test.want)
			}
		})
	}
	more := planOf(t, 2, "work", "work after")
	more.Seed, more.Budget.Failures = 99, 3
	for range 2 { // the second call needs no Extend
		if err := Run(t.Context(), dir, more, extended); err != nil {
			t.Error(err)
		}
		extended.Extend = false
	}
	after := written(t, dir)
	for run, when := range before {
		if after[run] != when {
			t.Errorf("%s ran again", run)
		}
	}
	if p, err := sweep.Read(dir); err != nil || len(after) != 4 || p.Seed != 7 || p.Begun != 1 ||
		p.Budget.Failures != 3 {
		t.Errorf("%d runs are done; the plan is %+v, %v", len(after), p, err)
	}
	if err := Run(t.Context(), dir, planOf(t, 1, "work", "work after"), extended); err == nil ||
		!strings.Contains(err.Error(), "was begun with other settings: repeats was 2 and is 1") {
		t.Errorf("it said %v", err)
	}
}

// A psbench that continues a sweep removes drafts that a killed psbench left. In a shared sweep it keeps drafts,
// because another psbench may still be writing them.
func TestDraftsAreCleared(t *testing.T) {
	p := planOf(t, 1, "work")
	for _, shared := range []bool{false, true} {
		t.Run(fmt.Sprint(shared), func(t *testing.T) {
			dir, o := t.TempDir(), options()
			o.Share = shared
			if err := Run(t.Context(), dir, p, o); err != nil {
				t.Fatal(err)
			}
			drafts := []string{filepath.Join(dir, ".spec.json.X2XBGRI7.tmp"),
				filepath.Join(dir, "cells", ".a.json.X2XBGRI7.tmp")}
			for _, path := range drafts {
				if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := Run(t.Context(), dir, p, o); err != nil {
				t.Fatal(err)
			}
			for _, path := range drafts {
				if _, err := os.Stat(path); (err == nil) != shared {
					t.Errorf("shared %t: %s: %v", shared, path, err)
				}
			}
		})
	}
}

func TestBadFolders(t *testing.T) {
	strange := t.TempDir()
	if err := os.WriteFile(filepath.Join(strange, "thesis.tex"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p := planOf(t, 1, "work")
	if err := Run(t.Context(), strange, p, options()); err == nil ||
		!strings.HasSuffix(err.Error(),
			"is no sweep's but has thesis.tex in it: name one that is empty or does not exist") {
		t.Errorf("it said %v", err)
	}
	if entries, _ := os.ReadDir(strange); len(entries) != 1 {
		t.Errorf("it left %v there", entries)
	}
	if err := Run(t.Context(), filepath.Join(strange, "thesis.tex"), p, options()); err == nil ||
		!strings.HasSuffix(err.Error(), "cannot be made: not a directory") {
		t.Errorf("it said %v", err)
	}
	damaged := t.TempDir()
	if err := Run(t.Context(), damaged, p, options()); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(damaged, journalName, "*"))
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(files[0], []byte(strings.Replace(string(text), "running", "waiting", 1)),
		0o600); err != nil {
		t.Fatal(err)
	}
	if err := Run(t.Context(), damaged, p, options()); err == nil ||
		!strings.Contains(err.Error(), "the journal "+files[0]+" is corrupted in line 1") {
		t.Errorf("it said %v", err)
	}
	// A run without a folder runs again: only a result counts.
	if err := errors.Join(os.WriteFile(files[0], text, 0o600),
		os.RemoveAll(filepath.Join(damaged, "runs"))); err != nil {
		t.Fatal(err)
	}
	if err := Run(t.Context(), damaged, p, options()); err != nil || len(written(t, damaged)) != 1 {
		t.Errorf("it said %v and has %v", err, written(t, damaged))
	}
}

// A binary that changes while the sweep runs ends the sweep.
func TestBinaryThatChanges(t *testing.T) {
	p := planOf(t, 3, "work")
	other := filepath.Join(t.TempDir(), "part")
	if err := os.WriteFile(other, []byte("abc"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.Binaries = append(p.Binaries,
		sweep.Binary{Name: "plugin part", Path: other,
			SHA256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"})
	p.Cells[0].Plugins = []string{other}
	p.Identify()
	dir := t.TempDir()
	o := options()
	o.Tell = func(n News) {
		if n.State == journal.Done && n.Round == 1 {
			if err := os.WriteFile(other, []byte("abcd"), 0o600); err != nil {
				t.Error(err)
			}
		}
	}
	want := "has ended early: binary " + other +
		" was changed: its SHA-256 was ba7816bf8f01 and is 88d4266fd4e6; restore it"
	if err := Run(t.Context(), dir, p, o); err == nil || !strings.Contains(err.Error(), want) ||
		!strings.Contains(err.Error(), "of its 3 runs 2 are done") {
		t.Errorf("it said %v", err)
	}
	if err := os.WriteFile(other, []byte("abc"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Run(t.Context(), dir, p, options()); err != nil {
		t.Error(err)
	}
}
