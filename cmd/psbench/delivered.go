package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/psbench/psbench/core/plan/config/option"
	"github.com/psbench/psbench/core/record/folder"
	"github.com/psbench/psbench/internal/draft"
	"github.com/psbench/psbench/internal/quote"
)

// delivered are the files that a command leaves on a node, on their way to where its user wants them. In folder
// each option has a folder of its own, by its flag.
type delivered struct {
	folder string
	paths  map[string]string // by flag
}

// Flags that name files which a command leaves.
const (
	outFlag    = "out"
	jsonFlag   = "json"
	logsFlag   = "log-dir"
	recordFlag = "record"
)

// newDelivered refuses early what could not be written in the end.
func newDelivered(flags *pflag.FlagSet, opts option.Options) (*delivered, error) {
	d := &delivered{folder: filepath.Join(os.TempDir(), ".psbench."+rand.Text()[:8]+".tmp"), paths: map[string]string{}}
	for flag, path := range map[string]string{outFlag: opts.Out, jsonFlag: opts.JSON, logsFlag: opts.LogDir} {
		if flags.Lookup(flag) != nil && path != "" && path != toStdout {
			d.paths[flag] = path
		}
	}
	if f := flags.Lookup(recordFlag); f != nil && f.Value.String() != "" {
		d.paths[recordFlag] = f.Value.String()
	}
	for flag, path := range d.paths {
		var err error
		switch flag {
		case outFlag: // beside which it comes, to be renamed
			d.folder = filepath.Join(filepath.Dir(filepath.Clean(path)), "."+filepath.Base(path)+"."+rand.Text()[:8]+".tmp")
			err = folder.Vacant(path)
		case jsonFlag, recordFlag:
			err = writable(path)
		}
		if err != nil {
			return nil, fmt.Errorf("--%s: %w", flag, err)
		}
	}
	return d, nil
}

// writable says why a file cannot be made at path, unless what is there is no file.
func writable(path string) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return nil
	}
	f, err := draft.New(path)
	if err != nil {
		return err
	}
	f.Discard()
	return nil
}

// publish has the files be where their user wants them.
func (d *delivered) publish() error {
	for flag, path := range d.paths {
		from := filepath.Join(d.folder, flag)
		if _, err := os.Stat(from); errors.Is(err, fs.ErrNotExist) {
			continue // the command did not come so far
		}
		var err error
		switch flag {
		case outFlag:
			err = moveFolder(from, path)
		case logsFlag:
			err = copyFiles(from, path)
		default:
			err = copyFile(filepath.Join(from, filepath.Base(path)), path)
		}
		if err != nil {
			return fmt.Errorf("--%s: what has come cannot be written to %s: %w", flag, quote.Word(path), draft.Cause(err))
		}
	}
	return nil
}

// moveFolder has a folder appear whole at a path, where nothing is but an empty one.
func moveFolder(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return draft.SyncFolder(filepath.Dir(filepath.Clean(to)))
}

func copyFile(from, to string) error {
	f, err := os.Open(from) // #nosec G304 -- that has just come
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	_, err = writeFile(to, "", nil, func(w io.Writer) error {
		_, err := io.Copy(w, f)
		return err
	})
	return err
}

func copyFiles(from, to string) error {
	entries, err := os.ReadDir(from)
	if err == nil {
		err = os.MkdirAll(to, 0o777) // #nosec G301 -- the user's umask
	}
	for _, e := range entries {
		if err == nil {
			err = copyFile(filepath.Join(from, e.Name()), filepath.Join(to, e.Name()))
		}
	}
	return err
}

// discard removes what is left of them.
func (d *delivered) discard() { _ = os.RemoveAll(d.folder) }
