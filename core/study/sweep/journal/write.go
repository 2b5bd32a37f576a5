package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/psbench/psbench/internal/draft"
	"github.com/psbench/psbench/internal/quote"
)

// extension is the extension of journal files.
const extension = ".jsonl"

// line is the JSON form of an event with its checksum.
type line struct {
	Sum   string          `json:"sum"` // XXH64 of the event's bytes, in hex
	Event json.RawMessage `json:"event"`
}

func sum(event []byte) string { return fmt.Sprintf("%016x", xxhash.Sum64(event)) }

// Options are for tests.
type Options struct {
	Now func() time.Time // nil means time.Now
	// Step is called at every point at which psbench may be killed. It may be nil.
	Step func(point string)
}

// Writer appends events to its own file. Only one goroutine may use it.
type Writer struct {
	file       *os.File
	generation uint64
	sequence   uint64
	options    Options
	err        error // after a failed write the content of the file is unknown
}

// Create creates a journal in dir, and dir itself if it does not exist. generation must be higher than all generations
// that were read under the same lock.
func Create(dir string, generation uint64, o Options) (*Writer, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	w := &Writer{generation: generation, options: o}
	w.at("journal before create")
	if err := w.create(dir); err != nil {
		if w.file != nil {
			_ = w.file.Close()
		}
		return nil, fmt.Errorf("the journal in %s cannot be made: %w", quote.Word(dir), draft.Cause(err))
	}
	w.at("journal after create")
	return w, nil
}

func (w *Writer) create(dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) { // #nosec G301 -- results are for others to read
		return err
	}
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	host = strings.Map(func(r rune) rune {
		if strings.ContainsRune("-.0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", r) {
			return r
		}
		return '_'
	}, host)
	stem := fmt.Sprintf("%s-%d-%s", host, os.Getpid(), w.options.Now().UTC().Format("20060102T150405.000000000"))
	for again := 0; w.file == nil; again++ { // a clock that is set back can produce an existing name
		name := stem + extension
		if again > 0 {
			name = fmt.Sprintf("%s-%d%s", stem, again, extension)
		}
		w.file, err = os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o644) // #nosec G302 G304 -- results are for others to read
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	// Sync the folders, so that the names of the file and its folder survive a power loss.
	if err := draft.SyncFolder(dir); err != nil {
		return err
	}
	return draft.SyncFolder(filepath.Dir(dir))
}

// Append writes an event, which is on disk when Append returns. After an error the writer writes nothing more.
func (w *Writer) Append(e Event) error {
	if w.err == nil {
		if err := w.append(e); err != nil {
			w.err = fmt.Errorf("the journal %s cannot be written: %w", quote.Word(w.file.Name()), draft.Cause(err))
		}
	}
	return w.err
}

func (w *Writer) append(e Event) error {
	e.Generation, e.Sequence = w.generation, w.sequence+1
	if e.Time.IsZero() {
		e.Time = w.options.Now().UTC()
	}
	event, err := json.Marshal(e)
	if err != nil {
		return err
	}
	text, err := json.Marshal(line{Sum: sum(event), Event: event})
	if err != nil {
		return err
	}
	point := string(e.State) + " " + e.Run
	w.at("journal before write: " + point)
	if _, err := w.file.Write(append(text, '\n')); err != nil {
		return err
	}
	w.at("journal before sync: " + point)
	if err := w.file.Sync(); err != nil {
		return err
	}
	w.sequence++
	w.at("journal after sync: " + point)
	return nil
}

// Close closes the file. Append has already written every event to disk.
func (w *Writer) Close() error { return w.file.Close() }

func (w *Writer) at(point string) {
	if w.options.Step != nil {
		w.options.Step(point)
	}
}
