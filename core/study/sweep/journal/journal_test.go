package journal

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// write writes a journal with the given events and returns the path of its file.
func write(t interface {
	Helper()
	Fatal(...any)
}, dir string, generation uint64, o Options, events ...Event) string {
	t.Helper()
	w, err := Create(dir, generation, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if err := w.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return w.file.Name()
}

var life = []Event{
	{Run: "a/0", State: Running, Folder: "runs/a/0"},
	{Run: "a/0", State: Failed, Reason: "the server has died:\n\"exit status 2\"", Seconds: 0.25, Folder: "runs/a/0"},
	{Run: "b/0", State: Running, Folder: "runs/b/0"},
	{Run: "b/0", State: Done, Seconds: 1.5, Folder: "runs/b/0"},
}

// told returns the run and state of each event, in order.
func told(events []Event) string {
	var all []string
	for _, e := range events {
		all = append(all, e.Run+" "+string(e.State))
	}
	return strings.Join(all, ", ")
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "journal")
	if events, err := Read(dir); err != nil || len(events) != 0 {
		t.Fatalf("of no journal it read %v, %v", events, err)
	}
	name := write(t, dir, 7, Options{}, life...)
	events, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range events {
		want := life[i]
		want.Generation, want.Sequence, want.Time, want.Writer = 7, uint64(i+1), e.Time,
			strings.TrimSuffix(filepath.Base(name), extension)
		if d := cmp.Diff(want, e); d != "" || e.Time.IsZero() {
			t.Errorf("event %d (-written +read):\n%s", i, d)
		}
	}
	want := map[string]Run{
		"a/0": {State: Failed, Reason: life[1].Reason, Attempts: 1, Seconds: 0.25},
		"b/0": {State: Done, Attempts: 1, Seconds: 1.5},
	}
	if d := cmp.Diff(want, Runs(events)); d != "" || len(events) != len(life) {
		t.Errorf("%d events make (-want +got):\n%s", len(events), d)
	}
}

// Events are ordered by generation and then by sequence number, whatever their times are.
func TestOrderWithAClockThatJumps(t *testing.T) {
	dir := t.TempDir()
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	clock := func() time.Time { at = at.Add(-time.Hour); return at }
	write(t, dir, 1, Options{Now: clock}, life[:2]...)
	write(t, dir, 2, Options{Now: func() time.Time { return at.Add(-1000 * time.Hour) }}, life[2:]...)
	stands := func() time.Time { return at }
	write(t, dir, 3, Options{Now: stands}, Event{Run: "c/0", State: Running})
	write(t, dir, 4, Options{Now: stands}, Event{Run: "c/0", State: Done})
	events, err := Read(dir)
	if want := "a/0 running, a/0 failed, b/0 running, b/0 done, c/0 running, c/0 done"; err != nil ||
		told(events) != want {
		t.Errorf("it read %s, %v, want %s", told(events), err, want)
	}
	if events[1].Time.After(events[0].Time) || Generation(events) != 4 {
		t.Errorf("the clock did not jump, or the generation is %d", Generation(events))
	}
}

// A file that is cut at any byte yields exactly the events of its complete lines.
func TestTornLines(t *testing.T) {
	dir := t.TempDir()
	name := write(t, dir, 1, Options{}, life...)
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for n := range len(whole) + 1 {
		events, err := parse(whole[:n])
		want := bytes.Count(whole[:n], []byte("\n"))
		if n < len(whole) && whole[n] == '\n' {
			want++ // the whole line except its newline
		}
		if err != nil || len(events) != want {
			t.Fatalf("of %d bytes it read %d events, %v, want %d", n, len(events), err, want)
		}
		if events, err := parse(append(slices.Clone(whole[:n]), make([]byte, 512)...)); err != nil ||
			len(events) > want {
			t.Fatalf("of %d bytes and zeros it read %d events, %v", n, len(events), err)
		}
	}
}

// A changed byte causes an error, except in the last line. If the change joins the last two lines or damages the last
// one, Read leaves out the last line.
func TestCorruptedLines(t *testing.T) {
	name := write(t, t.TempDir(), 1, Options{}, life...)
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	original, err := parse(whole)
	if err != nil {
		t.Fatal(err)
	}
	lastEnds := bytes.LastIndexByte(whole[:len(whole)-1], '\n')
	rapid.Check(t, func(t *rapid.T) {
		place := rapid.IntRange(0, len(whole)-1).Draw(t, "place")
		to := rapid.Byte().Draw(t, "to")
		changed := slices.Clone(whole)
		changed[place] = to
		events, err := parse(changed)
		if err != nil {
			return
		}
		if len(events) > len(original) || !cmp.Equal(events, original[:len(events)]) {
			t.Fatalf("byte %d is %q and it read other events: %s", place, to, told(events))
		}
		if place < lastEnds && len(events) < len(original) {
			t.Fatalf("byte %d is %q and %d events are lost without a word", place, to, len(original)-len(events))
		}
	})
}

func TestErrors(t *testing.T) {
	lines := func(t *testing.T, dir string) (string, []string) {
		name := write(t, dir, 1, Options{}, life...)
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return name, strings.SplitAfter(string(text), "\n")[:len(life)]
	}
	signed := func(event string) string { return `{"sum":"` + sum([]byte(event)) + `","event":` + event + "}\n" }
	for want, change := range map[string]func([]string) []string{
		"line 2: its checksum is wrong": func(l []string) []string {
			l[1] = strings.Replace(l[1], "failed", "done", 1)
			return l
		},
		"line 1: its checksum is wrong":       func(l []string) []string { l[0] = "\n"; return l },
		"line 2: it is event 3 of its writer": func(l []string) []string { return slices.Delete(l, 1, 2) },
		"line 3: it is event 1 of its writer": func(l []string) []string { return append(l[:2], l[0]) },
		"line 3: it has generation 9 but the lines": func(l []string) []string {
			return append(l[:2], signed(`{"generation":9,"sequence":3,"run":"a","state":"done"}`))
		},
		`line 1: its state is "lost" but must be one`: func([]string) []string {
			return []string{signed(`{"generation":9,"sequence":1,"run":"a","state":"lost"}`)}
		},
		"line 1: it must have a run": func([]string) []string {
			return []string{signed(`{"generation":9,"sequence":1,"state":"done"}`)}
		},
		"line 1: its event cannot be read": func([]string) []string { return []string{signed(`{"generation":"x"}`)} },
	} {
		t.Run(want, func(t *testing.T) {
			dir := t.TempDir()
			name, l := lines(t, dir)
			if err := os.WriteFile(name, []byte(strings.Join(change(l), "")), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := Read(dir)
			if err == nil || !strings.Contains(err.Error(), "the journal "+name+" is corrupted in "+want) ||
				strings.Contains(err.Error(), "\n") {
				t.Errorf("it said %v, want %q", err, want)
			}
		})
	}
}

// After an error a Writer writes no more lines, because a line after a torn line would be lost.
func TestAFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	w := &Writer{file: full, generation: 1, options: Options{Now: time.Now}}
	if err = w.Append(life[0]); !errors.Is(err, unix.ENOSPC) ||
		err.Error() != "the journal /dev/full cannot be written: no space left on device" {
		t.Errorf("it said %v", err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if again := w.Append(life[1]); again == nil || again.Error() != err.Error() {
		t.Errorf("then it said %v", again)
	}
}

func TestNoPermission(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(filepath.Join(file, "journal"), 1, Options{}); err == nil ||
		!strings.HasSuffix(err.Error(), "cannot be made: not a directory") {
		t.Errorf("it said %v", err)
	}
	if _, err := Read(file); err == nil || !strings.HasSuffix(err.Error(), "cannot be read: not a directory") {
		t.Errorf("it said %v", err)
	}
}

// Read returns the synced events in the order in which they were written. This holds for any number of writers, and
// wherever each writer was killed.
func TestMerge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "journal")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = os.RemoveAll(dir) }()
		var want []string
		for g := range rapid.IntRange(0, 4).Draw(t, "writers") {
			now := time.Unix(rapid.Int64Range(0, 1<<32).Draw(t, "clock"), 0)
			var events []Event
			for range rapid.IntRange(0, 5).Draw(t, "events") {
				e := Event{Run: rapid.StringN(1, 8, -1).Draw(t, "run"),
					State: rapid.SampledFrom([]State{Waiting, Running, Done, Failed}).Draw(t, "state")}
				events = append(events, e)
			}
			name := write(t, dir, uint64(g+1), Options{Now: func() time.Time { return now }}, events...)
			if tail := rapid.SliceOfN(rapid.ByteRange(0x20, 0x7e), 0, 40).Draw(t, "torn"); len(tail) > 0 {
				f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
				if err == nil {
					_, err = f.Write(tail)
				}
				if err := errors.Join(err, f.Close()); err != nil {
					t.Fatal(err)
				}
			}
			for _, e := range events {
				want = append(want, strings.ToValidUTF8(e.Run, "\ufffd")+" "+string(e.State))
			}
		}
		events, err := Read(dir)
		if got := told(events); err != nil || got != strings.Join(want, ", ") {
			t.Fatalf("it read %q, %v, want %q", got, err, want)
		}
	})
}

// Step is called before and after every operation that a power loss may interrupt.
func TestSteps(t *testing.T) {
	var points []string
	write(t, t.TempDir(), 1, Options{Step: func(p string) { points = append(points, p) }}, life[0])
	want := []string{"journal before create", "journal after create", "journal before write: running a/0",
		"journal before sync: running a/0", "journal after sync: running a/0"}
	if d := cmp.Diff(want, points); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func FuzzParse(f *testing.F) {
	name := write(f, f.TempDir(), 3, Options{}, life...)
	whole, err := os.ReadFile(name)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:len(whole)-20])
	f.Add([]byte(`{"sum":"","event":null}` + "\n\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		events, err := parse(text)
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("an error of several lines: %v", err)
		}
		for i, e := range events {
			if e.Sequence != uint64(i+1) || e.Run == "" || e.Generation != events[0].Generation {
				t.Errorf("event %d is %+v", i, e)
			}
		}
		_ = Runs(events)
	})
}
