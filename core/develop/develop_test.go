package develop

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// What makes the program belongs to the source, and nothing that a build or a run writes.
func TestSource(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "main.go", "x")
	before, err := read(dir)
	if err != nil {
		t.Fatal(err)
	}
	for name, belongs := range map[string]bool{
		"a.go": true, "b/c.go": true, "b/add_amd64.s": true, "go.mod": true, "go.sum": true, "main.go": true,
		"a_test.go": false, ".a.go": false, ".git/a.go": false, "testdata/a.go": false, "out.json": false, "median": false,
	} {
		write(t, dir, name, "another")
		after, err := read(dir)
		if err != nil || after.equal(before) == belongs {
			t.Errorf("%s changes the source: %t, want %t (%v)", name, !after.equal(before), belongs, err)
		}
		before = after
	}
	for _, none := range []string{t.TempDir(), filepath.Join(dir, "none"), filepath.Join(dir, "main.go", "x")} {
		if _, err := read(none); err == nil {
			t.Errorf("%s has a source", none)
		}
	}
}

func TestProgram(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "folder")
	for text, want := range map[string]string{"": "folder", "module example.org/median // x\n": "median", "// a\nmodule \"x/y\"\n\ngo 1.26\n": "y"} {
		write(t, dir, "go.mod", text)
		if got, err := Program(dir); err != nil || got != filepath.Join(dir, want) {
			t.Errorf("%q gives %s, %v", text, got, err)
		}
	}
}

// A change ends the turn that it finds, and several files of one change make one turn.
func TestLoop(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "main.go", "0")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	turns := 0
	err := Loop{Dir: dir, Turn: func(turn context.Context) {
		turns++
		switch turns {
		case 1:
			for _, name := range []string{"a.go", "b.go", "c.go"} {
				write(t, dir, name, "x")
				time.Sleep(look / 4)
			}
		case 2: // and a turn that is over waits for a change all the same
			time.AfterFunc(2*look, func() { _ = os.Remove(filepath.Join(dir, "a.go")) })
			return
		default:
			cancel()
		}
		<-turn.Done()
	}}.Run(ctx)
	if !errors.Is(err, context.Canceled) || turns != 3 {
		t.Errorf("%d turns, %v", turns, err)
	}
}
