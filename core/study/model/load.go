package model

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"github.com/psbench/psbench/core/measure/micro"
	"github.com/psbench/psbench/core/record/folder"
	"github.com/psbench/psbench/core/study/sweep"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/screen"
)

// Load reads the folder of a sweep, or folders and files of single runs, of any version. A path that it cannot read
// causes a warning in the study. Load returns an error only if it can read no path, or if the paths do not form one
// study.
func Load(paths []string) (*Study, error) { return new(Loader).Load(paths) }

// Load works like the function Load, but reads only the runs that the Loader has not read before.
func (l *Loader) Load(paths []string) (*Study, error) {
	s, err := l.load(paths)
	if err == nil {
		s.Settle()
		s.MostFailed = l.MostFailed
	}
	return s, err
}

func (l *Loader) load(paths []string) (*Study, error) {
	switch {
	case len(paths) == 0:
		return nil, errors.New(
			"no run is given: name the folder of a sweep, folders of runs, or files written by --json")
	case len(paths) == 1 && sweep.IsSweep(paths[0]):
		return l.loadSweep(paths[0])
	}
	for _, path := range paths {
		if sweep.IsSweep(path) {
			return nil, fmt.Errorf(
				"%s is the folder of a sweep, which is a study by itself, but %d paths are given: name it alone",
				quote.Word(path), len(paths))
		}
	}
	if err := checkOnce(paths); err != nil {
		return nil, err
	}
	runs := make([][]recorded, len(paths))
	errs := Each(len(paths), func(i int) (err error) {
		runs[i], err = read(paths[i])
		return err
	})
	var warnings []string
	for _, err := range errs {
		if err != nil {
			warnings = append(warnings, err.Error())
		}
	}
	all := slices.Concat(runs...)
	if len(all) == 0 {
		return nil, errs[0]
	}
	for _, rec := range all {
		if rec.comm != all[0].comm {
			return nil, fmt.Errorf("%s and %s have nothing in common: one is of a run, the other of psbench comm",
				quote.Word(all[0].run.Folder), quote.Word(rec.run.Folder))
		}
		if rec.early != "" && !slices.Contains(warnings, rec.early) {
			warnings = append(warnings, rec.early)
		}
	}
	name, title := quote.Word(paths[0]), TitleOf(paths[0])
	if len(paths) > 1 {
		name = screen.Count(len(all), "run")
		title = name
	}
	s := group(name, all)
	if all[0].comm {
		s.compareWithinSizes()
	}
	s.Title = title
	s.Warnings = append(s.Warnings, warnings...)
	return s, nil
}

// TitleOf returns the title of a study that was read from path: the path's last part.
func TitleOf(path string) string { return quote.Word(filepath.Base(path)) }

// checkOnce refuses a run that is given twice. A run that counts twice would make differences by chance look less
// likely than they are.
func checkOnce(paths []string) error {
	seen := map[string]string{}
	for _, path := range paths {
		at, err := filepath.Abs(path)
		if err == nil {
			at, err = filepath.EvalSymlinks(at)
		}
		if err != nil { // reading the path reports the error
			continue
		}
		if first, twice := seen[at]; twice {
			return fmt.Errorf("%s is given twice: it is %s, and a run counts once", quote.Word(path), quote.Word(first))
		}
		seen[at] = path
	}
	return nil
}

// read reads the run, or the rows of psbench comm, at path.
func read(path string) ([]recorded, error) {
	if folder.IsComm(path) {
		r, err := micro.ReadFolder(path)
		if err != nil {
			return nil, err
		}
		return recordRows(path, r)
	}
	r, err := folder.Read(path)
	if err != nil {
		return nil, err
	}
	return []recorded{record(path, r)}, nil
}

// Each calls do for the numbers from 0 to count-1, in parallel on all cores, and returns their errors in that order.
func Each(count int, do func(i int) error) []error {
	errs := make([]error, count)
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(count, runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for i := range next {
				errs[i] = do(i)
			}
		})
	}
	for i := range count {
		next <- i
	}
	close(next)
	workers.Wait()
	return errs
}
