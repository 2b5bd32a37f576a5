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

// Flags of psbench that name the files that a command leaves.
const (
	OutFlag    = "out"
	JSONFlag   = "json"
	LogsFlag   = "log-dir"
	RecordFlag = "record"
)

// Inbox holds the files that a command leaves on a node until Publish moves them to the user's paths.
type Inbox struct {
	// Folder has one folder for each flag that names files.
	Folder string

	paths map[string]string // by flag
}

// NewInbox returns the inbox for the paths by flag. It refuses paths early that Publish could not write.
func NewInbox(paths map[string]string) (*Inbox, error) {
	b := &Inbox{Folder: filepath.Join(os.TempDir(), ".psbench."+rand.Text()[:8]+".tmp"), paths: paths}
	for flag, path := range paths {
		var err error
		switch flag {
		case OutFlag: // Publish renames it, so it must be on the same file system
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

// writable returns an error if a file cannot be created at path; a device or a pipe is allowed.
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

// Publish moves the files to the user's paths.
func (b *Inbox) Publish() error {
	for flag, path := range b.paths {
		from := filepath.Join(b.Folder, flag)
		if _, err := os.Stat(from); errors.Is(err, fs.ErrNotExist) {
			continue // the command ended before it left any
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

// Discard removes the files that Publish has not moved.
func (b *Inbox) Discard() { _ = os.RemoveAll(b.Folder) }

// moveFolder moves a folder in one step to a path that has at most an empty folder.
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
