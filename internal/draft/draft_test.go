package draft_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/psbench/psbench/internal/draft"
)

// A second write replaces the file only if the data differs. No temporary file remains.
func TestWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "plan.json")
	var before os.FileInfo
	for _, test := range []struct {
		text string
		same bool
	}{{"one", false}, {"one", true}, {"two", false}, {"two!", false}, {"", false}, {"", true}} {
		if err := draft.Write(path, []byte(test.text)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != test.text {
			t.Errorf("%q, %v stands there, want %q", got, err, test.text)
		}
		now, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if before != nil && os.SameFile(before, now) != test.same {
			t.Errorf("%q: the same file: %t, want %t", test.text, !test.same, test.same)
		}
		before = now
	}
	if names := namesIn(t, dir); !slices.Equal(names, []string{"plan.json"}) {
		t.Errorf("the folder has %q", names)
	}
}

// Clear removes the drafts of killed processes and nothing else.
func TestClear(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{".plan.json.X2XBGRI7.tmp", ".a.b.ABCDEFGH.tmp"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	keep := []string{".X2XBGRI7.tmp", ".plan.json.X2XBGRI.tmp", ".plan.json.X2XBGRI7.tmp.bak", ".plan.json.tmp",
		".plan.json.x2xbgri7.tmp", "plan.json", "plan.json.X2XBGRI7.tmp"}
	for _, name := range keep {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, ".folder.X2XBGRI7.tmp"), 0o700); err != nil {
		t.Fatal(err)
	}
	keep = append(keep, ".folder.X2XBGRI7.tmp")
	slices.Sort(keep)
	if err := draft.Clear(dir); err != nil {
		t.Fatal(err)
	}
	if names := namesIn(t, dir); !slices.Equal(names, keep) {
		t.Errorf("the folder has\n%q, want\n%q", names, keep)
	}
	if err := draft.Clear(filepath.Join(dir, "none")); err == nil {
		t.Error("a folder that is not there was cleared")
	}
}

func namesIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
