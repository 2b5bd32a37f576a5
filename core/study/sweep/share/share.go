// Package share lets several psbenches on several hosts work on one sweep folder at once.
//
// link(2) decides everything that may happen only once, because even on a network file system only one link to a name
// succeeds. The package does not depend on flock, on synchronised clocks, or on fresh reads. A worker with an outdated
// view may repeat another worker's run, but cannot undo or replace the result.
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

// Names of files and folders in a shared sweep folder.
const (
	markName    = "shared.json" // marks the folder as shared; holds the plan's identity
	claimsName  = "claims"      // ROUND.GENERATION: the worker that runs a round
	commitsName = "commits"     // ID.ROUND.N: the worker whose result of a run counts
	workName    = "work"        // WORKER/ID/ROUND: the folder of a run until it has ended
)

// Names returns the names in a sweep folder that this package uses.
func Names() []string { return []string{markName, claimsName, commitsName, workName} }

// Options set the timeouts of a worker.
type Options struct {
	// Beat is the time between updates of a claim, which show that the holder is alive; 0 means 2 s.
	Beat time.Duration
	// Expiry is how long a claim must stay unchanged before another worker may take the round; 0 means 60 s. The other
	// worker measures this time on its own clock. Expiry must exceed the caching time of the file system.
	Expiry time.Duration
	// Crowded allows several workers on one host. It is for tests, because runs on the same host disturb each other.
	Crowded bool
}

// Worker is a psbench that works on a shared sweep.
type Worker struct {
	dir     string
	name    string // its folder within the work folder
	options Options
	seat    io.Closer           // keeps other workers of this host away; nil with Crowded
	seen    map[string]sighting // by path of the claim's file
}

// sighting is the text of a claim, and the time since which it has been unchanged.
type sighting struct {
	text  string
	since time.Time
}

// Is reports whether the sweep in dir is shared.
func Is(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, markName))
	return err == nil
}

// Join makes this process a worker of the sweep in dir, which must exist. The first worker stores the identity of the
// sweep. Join returns an error if its identity differs from the stored one.
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

// sit prevents other processes on this host from working on the sweep while this process lives. It uses an abstract
// socket, which has no file and disappears with the process, however the process ends.
func sit(dir, identity string) (io.Closer, error) {
	l, err := net.Listen("unix", "@psbench-sweep-"+identity)
	if errors.Is(err, unix.EADDRINUSE) {
		return nil,
			fmt.Errorf("another psbench of this host works on the sweep %s already, and their runs would disturb each other: start one on each host",
				quote.Word(dir))
	}
	return l, err
}

// Close ends this worker's part in the sweep.
func (w *Worker) Close() error {
	if w.seat == nil {
		return nil
	}
	return w.seat.Close()
}

// plain returns a host name in a form that is safe in file names.
func plain(host string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", r) {
			return r
		}
		return '_'
	}, host)
}

// marker is the content of the file that marks a shared sweep.
type marker struct {
	Identity string `json:"identity"`
}

// mark marks the sweep as shared. If the sweep is already marked, mark checks the identity.
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

// readLate reads a file that must exist. A network file system may still report the file as missing, so readLate
// retries until patience has passed.
func readLate(path string, patience time.Duration) ([]byte, error) {
	for until := time.Now().Add(patience); ; time.Sleep(patience / 100) {
		text, err := os.ReadFile(path) // #nosec G304 -- in a folder that the user names
		if !errors.Is(err, fs.ErrNotExist) || time.Now().After(until) {
			return text, err
		}
	}
}

// Folder returns the folder into which a run writes until it ends. run is the final folder, "runs/ID/ROUND".
func (w *Worker) Folder(run string) string {
	return filepath.Join(w.dir, workName, w.name, strings.TrimPrefix(run, "runs/"))
}

// Work returns the folder into which all workers of the sweep in dir write.
func Work(dir string) string { return filepath.Join(dir, workName) }

// Beat returns how long to wait between two searches for a free round.
func (w *Worker) Beat() time.Duration { return w.options.Beat }
