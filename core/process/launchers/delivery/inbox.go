package delivery

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/psbench/psbench/core/record/folder"
	"github.com/psbench/psbench/internal/draft"
	"github.com/psbench/psbench/internal/quote"
)

// These are the flags of psbench that name output files.
const (
	OutFlag    = "out"
	JSONFlag   = "json"
	LogsFlag   = "log-dir"
	RecordFlag = "record"
)

// Inbox holds the output files of a remote command until Publish moves them to the user's paths.
type Inbox struct {
	// Folder contains one folder for each flag that names output files.
	Folder string

	paths map[string]string // keyed by flag
}

// NewInbox returns an inbox for the paths, which are keyed by flag. NewInbox returns an error early if Publish could
// not write to a path.
func NewInbox(paths map[string]string) (*Inbox, error) {
	b := &Inbox{Folder: filepath.Join(os.TempDir(), ".psbench."+rand.Text()[:8]+".tmp"), paths: paths}
	for flag, path := range paths {
		var err error
		switch flag {
		case OutFlag: // Publish renames this folder, so both must be on the same file system
			b.Folder = filepath.Join(filepath.Dir(filepath.Clean(path)),
				"."+filepath.Base(path)+"."+rand.Text()[:8]+".tmp")
			err = folder.Vacant(path)
		case JSONFlag, RecordFlag:
			err = writable(path)
		}
		if err != nil {
			return nil, fmt.Errorf("--%s: %w", flag, err)
		}
	}
	return b, nil
}

// writable returns an error if no file can be created at path. Devices and pipes are allowed.
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

// Publish moves the received files to the user's paths.
func (b *Inbox) Publish() error {
	for flag, path := range b.paths {
		from := filepath.Join(b.Folder, flag)
		if _, err := os.Stat(from); errors.Is(err, fs.ErrNotExist) {
			continue // the command ended before it wrote this file
		}
		var err error
		switch flag {
		case OutFlag:
			err = moveFolder(from, path)
		case LogsFlag:
			err = copyFiles(from, path)
		default:
			err = copyFile(filepath.Join(from, filepath.Base(path)), path)
		}
		if err != nil {
			return fmt.Errorf("--%s: what has come cannot be written to %s: %w", flag, quote.Word(path),
				draft.Cause(err))
		}
	}
	return nil
}

// Discard removes all files that Publish has not moved.
func (b *Inbox) Discard() { _ = os.RemoveAll(b.Folder) }

// moveFolder renames a folder to a path. A folder at this path must be empty.
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
	_, err = draft.Output(to, "", nil, func(w io.Writer) error {
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
