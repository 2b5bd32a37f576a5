package share

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/psbench/psbench/internal/draft"
	"github.com/psbench/psbench/internal/quote"
)

// Holder is the worker that holds a claim, as written in the claim's file.
type Holder struct {
	Worker string    `json:"worker"`
	Host   string    `json:"host"`
	PID    int       `json:"pid"`
	Since  time.Time `json:"since"`
	// Left means that the holder no longer runs the round.
	Left bool `json:"left,omitempty"`
	// Beats counts how often the holder has updated the claim.
	Beats uint64 `json:"beats"`
}

// Claim is a round that this worker runs.
type Claim struct {
	Round      int
	dir        string
	generation int
	holder     Holder
	file       *os.File
	beat       time.Duration
	stop, over chan struct{}
}

// Claim claims the first free round of rounds. A round is free if it has no claim, if its holder has left it, or if the
// holder has not updated the claim for Options.Expiry. Claim returns nil if no round is free now.
func (w *Worker) Claim(rounds []int) (*Claim, error) {
	last, err := generations(w.dir)
	if err != nil {
		return nil, err
	}
	for _, round := range rounds {
		generation := last[round]
		if generation > 0 {
			free, err := w.free(round, generation)
			if err != nil {
				return nil, err
			}
			if !free {
				continue
			}
		}
		c, err := w.take(round, generation+1)
		if c != nil || err != nil {
			return c, err
		}
	}
	return nil, nil
}

// free reports whether no worker is running a round. A holder counts as alive while its claim changes; the content does
// not matter because a reader may see a half-written claim. A network file system may list a claim and still report
// that its file does not exist. Such a claim counts as empty.
func (w *Worker) free(round, generation int) (bool, error) {
	path := pathOf(w.dir, round, generation)
	text, err := os.ReadFile(path) // #nosec G304 -- in a folder that the user names
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("the claim %s cannot be read: %w", quote.Word(path), draft.Cause(err))
	}
	var h Holder
	if json.Unmarshal(text, &h) == nil && h.Left {
		return true, nil
	}
	now := time.Now()
	if s, ok := w.seen[path]; !ok || s.text != string(text) {
		w.seen[path] = sighting{string(text), now}
		return false, nil
	}
	return now.Sub(w.seen[path].since) >= w.options.Expiry, nil
}

// take creates a claim of the given generation. It returns nil if another worker was faster.
func (w *Worker) take(round, generation int) (*Claim, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	c := &Claim{
		Round: round, dir: w.dir, generation: generation, beat: w.options.Beat, stop: make(chan struct{}),
		over:   make(chan struct{}),
		holder: Holder{Worker: w.name, Host: host, PID: os.Getpid(), Since: time.Now().UTC()},
	}
	path := pathOf(w.dir, round, generation)
	made, err := draft.WriteNew(path, c.text())
	if !made || err != nil {
		return nil, err
	}
	if c.file, err = os.OpenFile(path, os.O_WRONLY, 0); err != nil { // #nosec G304 -- in a folder that the user names
		return nil, fmt.Errorf("the claim %s cannot be opened: %w", quote.Word(path), draft.Cause(err))
	}
	go c.live()
	return c, nil
}

// text returns the content of the claim's file. All versions have the same length, so a read that mixes an old and a
// new version also has this length.
func (c *Claim) text() []byte {
	text, err := json.Marshal(c.holder)
	if err != nil {
		panic(err) // strings and numbers can always be encoded
	}
	const size = 512
	return append(text, []byte(strings.Repeat(" ", max(0, size-1-len(text)))+"\n")...)
}

// live updates the claim until the claim ends, to show that the holder is alive. It ignores write errors: at worst
// another worker repeats the round, which does no harm.
func (c *Claim) live() {
	defer close(c.over)
	tick := time.NewTicker(c.beat)
	defer tick.Stop()
	for {
		select {
		case <-c.stop:
			return
		case <-tick.C:
			c.holder.Beats++
			c.write()
		}
	}
}

func (c *Claim) write() {
	if _, err := c.file.WriteAt(c.text(), 0); err == nil {
		_ = c.file.Sync()
	}
}

// Lost reports whether another worker has taken the round over.
func (c *Claim) Lost() bool {
	_, err := os.Stat(pathOf(c.dir, c.Round, c.generation+1))
	return err == nil
}

// Leave ends the claim. Another worker may take an unfinished round at once.
func (c *Claim) Leave() {
	close(c.stop)
	<-c.over
	c.holder.Left = true
	c.write()
	_ = c.file.Close()
}

// Holders returns, by round, the claims that their holders have not left. A holder may be dead: only a claim that
// changes over time shows a live holder.
func Holders(dir string) (map[int]Holder, error) {
	last, err := generations(dir)
	if err != nil {
		return nil, err
	}
	holders := map[int]Holder{}
	for round, generation := range last {
		text, err := os.ReadFile(pathOf(dir, round, generation))
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // as in free
			return nil, fmt.Errorf("the claim of round %d cannot be read: %w", round, draft.Cause(err))
		}
		var h Holder
		if err := json.Unmarshal(text, &h); err != nil || !h.Left {
			holders[round] = h
		}
	}
	return holders, nil
}

// generations returns the generation of the newest claim for each round that has claims.
func generations(dir string) (map[int]int, error) {
	entries, err := os.ReadDir(filepath.Join(dir, claimsName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the claims of the sweep %s cannot be read: %w", quote.Word(dir), draft.Cause(err))
	}
	last := map[int]int{}
	for _, e := range entries {
		numbers := strings.Split(e.Name(), ".")
		if len(numbers) != 2 {
			continue
		}
		round, err := strconv.Atoi(numbers[0])
		generation, gerr := strconv.Atoi(numbers[1])
		if err == nil && gerr == nil {
			last[round] = max(last[round], generation)
		}
	}
	return last, nil
}

func pathOf(dir string, round, generation int) string {
	return filepath.Join(dir, claimsName, fmt.Sprintf("%d.%d", round, generation))
}

// Rounds returns the rounds in holders, sorted.
func Rounds(holders map[int]Holder) []int {
	var rounds []int
	for round := range holders {
		rounds = append(rounds, round)
	}
	slices.Sort(rounds)
	return rounds
}
