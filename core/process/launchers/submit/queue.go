package submit

import (
	"cmp"
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/psbench/psbench/internal/quote"
)

// words collects Slurm's messages about a job.
type words struct {
	job string // number of the waiting job; "" until a message says that the job waits
	all []string
}

// mostWords limits how many lines are kept.
const mostWords = 4

var (
	queuedJob = regexp.MustCompile(`^job (\d+) queued and waiting for resources$`)
	// help matches the line that follows an error message about an option.
	help = regexp.MustCompile(`^Try "s[a-z]+ --help" for more information$`)
	// usual matches lines that do not explain why a job ended.
	usual = regexp.MustCompile(help.String() +
		`|^job \d+ |Exited with exit code|^Job step aborted: |^forcing job termination|^launch/slurm: |^cluster configuration lacks support for cpu binding$`)
)

// take keeps a line, and reports whether the line says that the job waits.
func (w *words) take(line string) (waits bool) {
	if found := queuedJob.FindStringSubmatch(line); found != nil && w.job == "" {
		w.job = found[1]
		return true
	}
	if !usual.MatchString(line) && len(w.all) < mostWords && !slices.Contains(w.all, line) {
		w.all = append(w.all, line)
	}
	return false
}

// reason returns why there is no result.
func (w *words) reason() string {
	return cmp.Or(quote.Message(strings.Join(w.all, "; ")), "srun has ended without output")
}

// queue reports to the user why a job waits.
type queue struct {
	job   string
	tell  func(string)
	asked time.Time
	told  string
}

// squeue is answered by one daemon for the whole cluster. These constants limit how often psbench calls squeue, and how
// long a call may take.
const (
	askEvery = 5 * time.Second
	askTime  = 5 * time.Second
)

// look reports why the job waits, if the reason has changed. A nil queue does nothing.
func (q *queue) look(ctx context.Context) {
	if q == nil || time.Since(q.asked) < askEvery {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	out, err := exec.CommandContext(ctx, "squeue", "--noheader", "--jobs="+q.job, "--states=PENDING", "--format=%r").Output() // #nosec G204 -- digits
	q.asked = time.Now()
	reason := strings.TrimSpace(string(out))
	if err != nil || reason == "" || reason == q.told || reason == "None" {
		return
	}
	q.told = reason
	q.tell(fmt.Sprintf("job %s waits: %s", q.job, quote.Text(reason)))
}
