package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/psbench/psbench/internal/draft"
	"github.com/psbench/psbench/internal/quote"
)

// Read returns the events of all journals in dir, in order. It returns no events if dir does not exist. If the last
// line of a file is torn or corrupted, Read leaves that line out. Any other corrupted line is an error.
func Read(dir string) ([]Event, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the journals in %s cannot be read: %w", quote.Word(dir), draft.Cause(err))
	}
	var all []Event
	for _, entry := range entries {
		if !entry.Type().IsRegular() || !strings.HasSuffix(entry.Name(), extension) {
			continue
		}
		path := filepath.Join(dir, entry.Name())
		text, err := os.ReadFile(path) // #nosec G304 -- in a folder that the user names
		if err != nil {
			return nil, fmt.Errorf("the journal %s cannot be read: %w", quote.Word(path), draft.Cause(err))
		}
		events, err := parse(text)
		if err != nil {
			return nil, fmt.Errorf("the journal %s %w", quote.Word(path), err)
		}
		for i := range events {
			events[i].Writer = strings.TrimSuffix(entry.Name(), extension)
		}
		all = append(all, events...)
	}
	merge(all)
	return all, nil
}

// parse returns the events of one file.
func parse(text []byte) ([]Event, error) {
	lines := bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
	var events []Event
	for i, text := range lines {
		event, ok := intact(text)
		if !ok && i == len(lines)-1 {
			break
		}
		if !ok {
			return nil,
				fmt.Errorf("is corrupted in line %d: its checksum is wrong, and only a last line may be incomplete; restore the file, or remove it: complete runs are kept", i+1)
		}
		e, err := decode(event)
		if err != nil {
			return nil, fmt.Errorf("is corrupted in line %d: %w", i+1, err)
		}
		if want := uint64(i + 1); e.Sequence != want {
			return nil,
				fmt.Errorf("is corrupted in line %d: it is event %d of its writer but must be event %d: lines are missing or moved",
					i+1, e.Sequence, want)
		}
		if i > 0 && e.Generation != events[0].Generation {
			return nil, fmt.Errorf(
				"is corrupted in line %d: it has generation %d but the lines before it have %d, and a writer has one",
				i+1, e.Generation, events[0].Generation)
		}
		events = append(events, e)
	}
	return events, nil
}

// intact returns the bytes of a line's event. ok reports whether the checksum is correct.
func intact(text []byte) (event []byte, ok bool) {
	var l line
	if err := json.Unmarshal(text, &l); err != nil || l.Sum != sum(l.Event) {
		return nil, false
	}
	return l.Event, true
}

// decode parses the bytes of an event. A newer psbench may have written the event.
func decode(event []byte) (Event, error) {
	var e Event
	if err := json.Unmarshal(event, &e); err != nil {
		return e, fmt.Errorf("its event cannot be read: %w", err)
	}
	states := []State{Waiting, Running, Done, Failed, Skipped}
	if !slices.Contains(states, e.State) {
		return e, fmt.Errorf("its state is %s but must be one of %v", quote.String(string(e.State)), states)
	}
	if e.Run == "" || e.Generation == 0 {
		return e, errors.New("it must have a run and a generation")
	}
	return e, nil
}
