package share

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// workerOf joins a sweep as a worker. Claims expire after expiry.
func workerOf(t *testing.T, dir string, expiry time.Duration) *Worker {
	t.Helper()
	w, err := Join(dir, "identity", Options{Beat: 10 * time.Millisecond, Expiry: expiry, Crowded: true})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// claim returns a claim, or nil if no round is free.
func claim(t *testing.T, w *Worker, rounds ...int) *Claim {
	t.Helper()
	c, err := w.Claim(rounds)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Each round goes to exactly one worker, even if many workers start at once.
func TestRoundsAreClaimedOnce(t *testing.T) {
	dir := t.TempDir()
	const workers, rounds = 8, 20
	all := make([]int, rounds)
	for i := range all {
		all[i] = i
	}
	var mu sync.Mutex
	holders := map[int]int{}
	var claims []*Claim
	var working sync.WaitGroup
	for range workers {
		w := workerOf(t, dir, time.Hour)
		working.Go(func() {
			for {
				c, err := w.Claim(all)
				if err != nil || c == nil {
					if err != nil {
						t.Error(err)
					}
					return
				}
				mu.Lock()
				holders[c.Round]++
				claims = append(claims, c)
				mu.Unlock()
			}
		})
	}
	working.Wait()
	for _, c := range claims { // a round that was left is free
		c.Leave()
	}
	for round := range rounds {
		if holders[round] != 1 {
			t.Errorf("round %d has %d holders", round, holders[round])
		}
	}
}

// A claim lasts while its holder updates it, and for Expiry afterwards. If the holder leaves a round, the round is free
// at once.
func TestClaimsExpire(t *testing.T) {
	dir := t.TempDir()
	a, b := workerOf(t, dir, 300*time.Millisecond), workerOf(t, dir, 300*time.Millisecond)
	first := claim(t, a, 0)
	for late := time.Now().Add(time.Second); time.Now().Before(late); time.Sleep(20 * time.Millisecond) {
		if c := claim(t, b, 0); c != nil {
			c.Leave()
			t.Fatal("a claim whose holder lives was taken")
		}
	}
	close(first.stop) // as if the holder were killed
	<-first.over
	first.stop = make(chan struct{})
	var second *Claim
	for late := time.Now().Add(30 * time.Second); second == nil &&
		time.Now().Before(late); time.Sleep(10 * time.Millisecond) {
		second = claim(t, b, 0)
	}
	if second == nil || !first.Lost() || second.Lost() {
		t.Fatalf("the claim of who was killed was taken: %v; it knows: %v", second != nil, first.Lost())
	}
	second.Leave()
	third := claim(t, a, 0)
	if third == nil || third.generation != 3 {
		t.Fatalf("a round that was left is not free: %+v", third)
	}
	if h, err := Holders(dir); err != nil || h[0].Worker != a.name {
		t.Errorf("it is held by %+v, %v", h, err)
	}
	third.Leave()
	if h, err := Holders(dir); err != nil || len(h) != 0 {
		t.Errorf("it is held by %+v, %v", h, err)
	}
	_ = first.file.Close()
}

// result creates the files of a run in a worker's folder.
func result(t *testing.T, w *Worker, run string) {
	t.Helper()
	if err := os.MkdirAll(w.Folder(run), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.Folder(run), "by"), []byte(w.name), 0o600); err != nil {
		t.Fatal(err)
	}
}

// by returns the worker whose result counts.
func by(t *testing.T, dir, run string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, run, "by"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func nothing() error { return nil }

// away returns a function that makes room for a result in a run's folder, as package conduct does.
func away(dir, run string) func() error {
	return func() error {
		err := os.Rename(filepath.Join(dir, run), filepath.Join(dir, run)+".failed-1")
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		return err
	}
}

// If a run has two results, the first one counts and the second one is kept.
func TestTheFirstResultCounts(t *testing.T) {
	const run = "runs/cell/0"
	dir := t.TempDir()
	a, b := workerOf(t, dir, time.Hour), workerOf(t, dir, time.Hour)
	result(t, a, run)
	result(t, b, run)
	for i, test := range []struct {
		w     *Worker
		first bool
	}{{b, true}, {a, false}} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			if first, err := test.w.Commit(run, away(dir, run)); err != nil || first != test.first {
				t.Errorf("%s is the first: %v, %v", test.w.name, first, err)
			}
		})
	}
	if by(t, dir, run) != b.name {
		t.Error("the second result counts")
	}
	if _, err := os.Stat(filepath.Join(a.Folder(run), "by")); err != nil {
		t.Errorf("the second result is not kept: %v", err)
	}
}

// Many workers that commit at once agree on one result.
func TestOneResultCounts(t *testing.T) {
	const run = "runs/cell/0"
	dir := t.TempDir()
	var committing sync.WaitGroup
	firsts := make([]bool, 8)
	for i := range firsts {
		w := workerOf(t, dir, time.Hour)
		result(t, w, run)
		committing.Go(func() {
			var err error
			if firsts[i], err = w.Commit(run, away(dir, run)); err != nil {
				t.Error(err)
			}
		})
	}
	committing.Wait()
	count := 0
	for _, first := range firsts {
		if first {
			count++
		}
	}
	// A worker may find that another worker has already moved the first result. Then neither worker moved its own
	// result.
	if count > 1 || by(t, dir, run) == "" {
		t.Errorf("%d results are the first", count)
	}
}

// A committed result counts even if its worker was killed before it moved the result. A removed result does not count.
func TestResultsBetweenCommitAndMove(t *testing.T) {
	const run = "runs/cell/0"
	dir := t.TempDir()
	a, b := workerOf(t, dir, time.Hour), workerOf(t, dir, time.Hour)
	if there, err := a.Adopt(run); there || err != nil {
		t.Errorf("of nothing something was adopted: %v", err)
	}
	result(t, a, run)
	killed := errors.New("killed")
	if _, err := a.Commit(run, func() error { return killed }); !errors.Is(err, killed) {
		t.Fatal(err)
	}
	if there, err := b.Adopt(run); !there || err != nil || by(t, dir, run) != a.name {
		t.Errorf("the result of who was killed is lost: %v", err)
	}
	if err := os.RemoveAll(filepath.Join(dir, run)); err != nil {
		t.Fatal(err)
	}
	if there, err := b.Adopt(run); there || err != nil {
		t.Errorf("what was removed was adopted: %v", err)
	}
	result(t, b, run)
	if first, err := b.Commit(run, nothing); !first || err != nil || by(t, dir, run) != b.name {
		t.Errorf("after a result was removed none can be committed: %v", err)
	}
}

func TestDamage(t *testing.T) {
	dir := t.TempDir()
	w := workerOf(t, dir, time.Hour)
	if _, err := Join(dir, "another", Options{}); err == nil ||
		!strings.Contains(err.Error(), "is shared by those of identity identity, and this one is another") {
		t.Errorf("it said %v", err)
	}
	for name, text := range map[string]string{"cell.0.1": "{", "cell.1.1": `{"folder": "../elsewhere"}`} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, commitsName, name)
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			run := "runs/" + strings.ReplaceAll(strings.TrimSuffix(name, ".1"), ".", "/")
			if _, err := w.Adopt(run); err == nil ||
				!strings.HasPrefix(err.Error(), "the commit "+path+" cannot be read: ") {
				t.Errorf("of %s it said %v", name, err)
			}
		})
	}
	if err := os.WriteFile(filepath.Join(dir, markName), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Join(dir, "identity", Options{}); err == nil ||
		!strings.Contains(err.Error(), markName+" cannot be read") {
		t.Errorf("it said %v", err)
	}
	if _, err := Join(filepath.Join(dir, "nowhere"), "identity", Options{}); err == nil {
		t.Error("a folder that is not there was joined")
	}
}

// Only one worker per host works on a sweep.
func TestOneOfAHost(t *testing.T) {
	dir := t.TempDir()
	w, err := Join(dir, "of one host", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Join(dir, "of one host", Options{}); err == nil ||
		!strings.Contains(err.Error(), "another psbench of this host works on the sweep") {
		t.Errorf("it said %v", err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	w, err = Join(dir, "of one host", Options{})
	if err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
}

// A host may still report a listed or newly created file as missing. The test imitates this with a dangling link.
func TestNamesThatShowLate(t *testing.T) {
	t.Parallel()
	late := func(t *testing.T, path string) (arrive func(text string)) {
		t.Helper()
		target := filepath.Join(t.TempDir(), "late")
		if err := os.Symlink(target, path); err != nil {
			t.Fatal(err)
		}
		return func(text string) {
			time.Sleep(20 * time.Millisecond)
			if err := os.WriteFile(target, []byte(text), 0o600); err != nil {
				t.Error(err)
			}
		}
	}
	t.Run("claim", func(t *testing.T) {
		dir := t.TempDir()
		w := workerOf(t, dir, 50*time.Millisecond)
		late(t, pathOf(dir, 1, 1))
		if c := claim(t, w, 1); c != nil {
			t.Error("a claim that has just been made was taken for one that is over")
		}
		if holders, err := Holders(dir); err != nil || len(holders) != 1 {
			t.Errorf("the holders are %v, %v", holders, err)
		}
		time.Sleep(60 * time.Millisecond)
		if c := claim(t, w, 1); c == nil {
			t.Error("a claim that never showed is not over")
		} else {
			c.Leave()
		}
	})
	t.Run("mark", func(t *testing.T) {
		dir := t.TempDir()
		arrive := late(t, filepath.Join(dir, markName))
		var working sync.WaitGroup
		defer working.Wait()
		working.Go(func() { arrive(`{"identity":"identity"}`) })
		workerOf(t, dir, 10*time.Second)
	})
	t.Run("commit", func(t *testing.T) {
		dir := t.TempDir()
		w := workerOf(t, dir, 10*time.Second)
		run := "runs/id/1"
		if err := os.MkdirAll(filepath.Join(dir, run), 0o700); err != nil {
			t.Fatal(err)
		}
		arrive := late(t, w.commitOf(run, 1))
		var working sync.WaitGroup
		defer working.Wait()
		working.Go(func() { arrive(`{"folder":"work/other/id/1"}`) })
		if first, err := w.Commit(run, nil); first || err != nil {
			t.Errorf("it was first: %v, %v", first, err)
		}
	})
}
