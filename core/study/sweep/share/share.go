// Package share is how several psbenches, on several hosts, work at once on the sweep of one folder.
//
// What may happen once is decided by link(2), of which a file system lets one succeed, a network's too.
// Nothing relies on flock, on clocks that agree, or on what is read being new: who sees an old state may
// do work that another does as well, and can neither undo nor replace what another has done.
package share

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/psbench/psbench/internal/draft"
	"github.com/psbench/psbench/internal/quote"
)

// Names in the folder of a shared sweep.
const (
	markName    = "shared.json" // that it is one, and with which identity
	claimsName  = "claims"      // ROUND.GENERATION: who runs a round
	commitsName = "commits"     // ID.ROUND.N: whose result of a run counts
	workName    = "work"        // WORKER/ID/ROUND: the folder of a run until it has ended
)

// Names are those in the folder that are this package's.
func Names() []string { return []string{markName, claimsName, commitsName, workName} }

// Options are how patient a worker is.
type Options struct {
	// Beat is how often a holder shows that it is there, 2 s if it is 0.
	Beat time.Duration
	// Expiry is how long a claim must have shown no sign of its holder, on the clock of who looks,
	// until another may take the round: 60 s if it is 0. It covers caches of file systems, too.
	Expiry time.Duration
	// Crowded lets several of one host work on a sweep, as tests do: their runs disturb each other.
	Crowded bool
}

// Worker is one psbench that works on a sweep.
type Worker struct {
	dir     string
	name    string // of its folder in that of the work
	options Options
	seat    io.Closer           // of its host, nil where hosts are crowded
	seen    map[string]sighting // by claim
}

// sighting is what was read of a claim, and since when it has been that.
type sighting struct {
	text  string
	since time.Time
}

// Is says whether the sweep in dir is shared.
func Is(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, markName))
	return err == nil
}

// Join makes this process one of those that work on the sweep in dir, which is there. The first one says
// what sweep that is, and one of another identity is refused.
func Join(dir, identity string, o Options) (*Worker, error) {
	if o.Beat == 0 {
		o.Beat = 2 * time.Second
	}
	if o.Expiry == 0 {
		o.Expiry = time.Minute
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	if err := mark(dir, identity, o.Expiry); err != nil {
		return nil, err
	}
	for _, name := range []string{claimsName, commitsName, workName} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o777); err != nil && !errors.Is(err, fs.ErrExist) { // #nosec G301 -- as the user's umask has it
			return nil, fmt.Errorf("the folder %s cannot be made in the sweep %s: %w", name, quote.Word(dir),
				draft.Cause(err))
		}
	}
	w := &Worker{dir: dir, options: o, seen: map[string]sighting{}}
	if !o.Crowded {
		if w.seat, err = sit(dir, identity); err != nil {
			return nil, err
		}
	}
	w.name = fmt.Sprintf("%s-%d-%s", plain(host), os.Getpid(), strings.ToLower(rand.Text()[:6]))
	return w, nil
}

// sit keeps others of this host from working on the sweep, for as long as this process lives: a socket
// without a file is gone with who has it, however that ends.
func sit(dir, identity string) (io.Closer, error) {
	l, err := net.Listen("unix", "@psbench-sweep-"+identity)
	if errors.Is(err, unix.EADDRINUSE) {
		return nil,
			fmt.Errorf("another psbench of this host works on the sweep %s already, and their runs would disturb each other: start one on each host",
				quote.Word(dir))
	}
	return l, err
}

// Close ends the work.
func (w *Worker) Close() error {
	if w.seat == nil {
		return nil
	}
	return w.seat.Close()
}

// plain is a host's name as a part of the name of a file.
func plain(host string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", r) {
			return r
		}
		return '_'
	}, host)
}

// marker is the mark of a shared sweep.
type marker struct {
	Identity string `json:"identity"`
}

// mark says that the sweep is shared, or compares what was said.
func mark(dir, identity string, patience time.Duration) error {
	path := filepath.Join(dir, markName)
	text, err := json.Marshal(marker{identity})
	if err != nil {
		return err
	}
	made, err := draft.WriteNew(path, append(text, '\n'))
	if made || err != nil {
		return err
	}
	var m marker
	if text, err = readLate(path, patience); err == nil {
		err = json.Unmarshal(text, &m)
	}
	switch {
	case err != nil:
		return fmt.Errorf("%s cannot be read: %w", quote.Word(path), draft.Cause(err))
	case m.Identity != identity:
		return fmt.Errorf(
			"the sweep %s is shared by those of identity %.12s, and this one is %.12s: give it another folder",
			quote.Word(dir), m.Identity, identity)
	}
	return nil
}

// readLate reads a file that is known to be there. A network file system may go on believing for a while that
// there is none: it is looked for again for as long as patience.
func readLate(path string, patience time.Duration) ([]byte, error) {
	for until := time.Now().Add(patience); ; time.Sleep(patience / 100) {
		text, err := os.ReadFile(path) // #nosec G304 -- in a folder that the user names
		if !errors.Is(err, fs.ErrNotExist) || time.Now().After(until) {
			return text, err
		}
	}
}

// Folder is where a run, whose folder in the sweep is "runs/ID/ROUND", writes until it has ended.
func (w *Worker) Folder(run string) string {
	return filepath.Join(w.dir, workName, w.name, strings.TrimPrefix(run, "runs/"))
}

// Work is the folder of those who work on the sweep in dir.
func Work(dir string) string { return filepath.Join(dir, workName) }

// Beat is how long to wait before looking again whether there is something to claim.
func (w *Worker) Beat() time.Duration { return w.options.Beat }
