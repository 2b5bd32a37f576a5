package conduct

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/psbench/psbench/internal/draft"
	"github.com/psbench/psbench/internal/quote"
)

// lockName is the lock file in the sweep folder. The psbench that runs the sweep holds its lock.
const lockName = "lock"

// Holder is the process that runs a sweep.
type Holder struct {
	Host  string    `json:"host"`
	PID   int       `json:"pid"`
	Since time.Time `json:"since"`
}

func (h Holder) String() string {
	return fmt.Sprintf("process %d on %s since %s", h.PID, quote.Word(h.Host), h.Since.Local().Format(time.DateTime))
}

// dead reports whether the holder ran on this host and has ended.
func (h Holder) dead() bool {
	host, err := os.Hostname()
	return err == nil && h.Host == host && h.PID > 0 && errors.Is(unix.Kill(h.PID, 0), unix.ESRCH)
}

// patience is how long take waits for a run that outlived its killed psbench.
const patience = 20 * time.Second

// take locks the sweep folder until the returned file is closed. The process of a run also keeps the file open. If its
// psbench dies while the run still writes, no other psbench can take the lock.
func take(ctx context.Context, dir string, now time.Time) (*os.File, error) {
	path := filepath.Join(dir, lockName)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644) // #nosec G302 G304 G703 -- others may read who holds it
	if err != nil {
		return nil, fmt.Errorf("the sweep %s cannot be locked: %w", quote.Word(dir), draft.Cause(err))
	}
	if err := lock(ctx, f, dir); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if err := sign(f, now); err != nil {
		return nil, errors.Join(fmt.Errorf("the lock %s cannot be written: %w", quote.Word(path), draft.Cause(err)),
			f.Close())
	}
	return f, nil
}

func lock(ctx context.Context, f *os.File, dir string) error {
	for late := time.Now().Add(patience); ; {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) // #nosec G115 -- a descriptor
		if err == nil {
			return nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return fmt.Errorf("the sweep %s cannot be locked: %w", quote.Word(dir), err)
		}
		holder, err := signature(f)
		if err == nil && !holder.dead() {
			return fmt.Errorf("the sweep %s is already run by %s: only one psbench can run it at a time", quote.Word(dir), holder)
		}
		if time.Now().After(late) {
			return fmt.Errorf("the sweep %s is locked by a psbench process that has ended, or by another program",
				quote.Word(dir))
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// stillHeld returns an error if the lock no longer protects the sweep. If the lock file was removed or the sweep folder
// was moved, another psbench may run the sweep too.
func stillHeld(f *os.File) error {
	ours, err := f.Stat()
	if err != nil {
		return fmt.Errorf("the lock %s cannot be looked at: %w", quote.Word(f.Name()), draft.Cause(err))
	}
	if there, err := os.Stat(f.Name()); err != nil || !os.SameFile(ours, there) {
		return fmt.Errorf("its lock %s was removed, or its folder moved, so that another psbench may run it by now",
			quote.Word(f.Name()))
	}
	return nil
}

// sign writes this process into the locked file as its holder.
func sign(f *os.File, now time.Time) error {
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	text, err := json.Marshal(Holder{host, os.Getpid(), now.UTC()})
	if err != nil {
		return err
	}
	text = append(text, '\n')
	if _, err := f.WriteAt(text, 0); err != nil {
		return err
	}
	return f.Truncate(int64(len(text)))
}

// signature returns the holder named in a lock file. It returns an error if the file names no holder yet.
func signature(f *os.File) (Holder, error) {
	var h Holder
	text, err := io.ReadAll(io.NewSectionReader(f, 0, 4096))
	if err == nil {
		err = json.Unmarshal(text, &h)
	}
	return h, err
}

// HeldBy returns the process that runs the sweep in dir, or nil if no process runs it.
func HeldBy(dir string) (*Holder, error) {
	f, err := os.Open(filepath.Join(dir, lockName)) // #nosec G304 -- in a folder that the user names
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the lock of the sweep %s cannot be read: %w", quote.Word(dir), draft.Cause(err))
	}
	defer func() { _ = f.Close() }()
	// A shared lock only briefly delays a psbench that wants to run the sweep.
	err = unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) // #nosec G115 -- a descriptor
	if err == nil {
		return nil, nil
	}
	if !errors.Is(err, unix.EWOULDBLOCK) {
		return nil, fmt.Errorf("the lock of the sweep %s cannot be tried: %w", quote.Word(dir), err)
	}
	h, err := signature(f)
	if err != nil {
		h = Holder{Host: "an unknown host"} // the holder has not signed yet
	}
	return &h, nil
}
