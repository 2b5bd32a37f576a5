package submit

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/psbench/psbench/internal/quote"
)

// Array is a job array. Several nodes run the same command independently, each as soon as Slurm has room.
type Array struct {
	Slurm
	Command []string // program and its arguments
	Environ []string
	Prints  string // folder on all nodes for the output of the elements
	// Tell is called with news about the job, for the user.
	Tell func(string)

	job      string
	waits    queue
	answered time.Time // time of squeue's last answer
	runs     bool      // whether an element has started
}

// These constants limit how long psbench waits: for sbatch and scancel, for the elements to end after a cancel, and for
// squeue to answer again.
const (
	commandTime = time.Minute
	cancelTime  = 2 * time.Minute
	answerTime  = 5 * time.Minute
)

// unfinished lists squeue's states of elements that wait or run.
const unfinished = "PENDING,RUNNING,SUSPENDED,CONFIGURING,REQUEUED"

// sbatch returns the arguments of sbatch. The script is sbatch's standard input.
func (a *Array) sbatch() []string {
	args := append(a.options(1), "--parsable", fmt.Sprintf("--array=0-%d", a.Nodes-1),
		"--output="+filepath.Join(strings.ReplaceAll(a.Prints, "%", "%%"), "slurm-%A-%a.log"))
	return append(args, a.Args...)
}

// script returns a shell script that replaces itself with the command. The command then gets the job's signals.
func (a *Array) script() string {
	words := make([]string, len(a.Command))
	for i, word := range a.Command {
		words[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return "#!/bin/sh\nexec " + strings.Join(words, " ") + "\n"
}

// Submit submits the array. If ctx ends, Submit still waits for sbatch's answer, so that Cancel knows the job.
func (a *Array) Submit(ctx context.Context) error {
	if _, err := exec.LookPath("sbatch"); err != nil {
		return errors.New("there is no sbatch on PATH: start psbench on a host that submits Slurm jobs")
	}
	out, said, err := a.call(ctx, "sbatch", a.script(), a.sbatch()...)
	if err != nil {
		return fmt.Errorf("Slurm did not take the job: %w", said.or(err))
	}
	a.job, _, _ = strings.Cut(strings.TrimSpace(out), ";") // the name of a cluster may follow the number
	a.waits, a.answered = queue{job: a.job, tell: a.Tell}, time.Now()
	return nil
}

// call runs a command of Slurm and returns its output and messages. call does not stop when ctx ends.
func (a *Array) call(ctx context.Context, program, stdin string, args ...string) (string, *words, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commandTime)
	defer cancel()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args...) // #nosec G204 -- the user's
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = a.Environ, strings.NewReader(stdin), &out, &errs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // the terminal's Ctrl-C must reach only psbench
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	said := &words{}
	for line := range strings.Lines(errs.String()) {
		text, ok := complaint(strings.TrimSpace(line))
		if !ok {
			text = strings.TrimSpace(line)
		}
		said.take(text)
	}
	return out.String(), said, err
}

// or returns the messages as an error. If there are no messages, or returns err.
func (w *words) or(err error) error {
	if len(w.all) == 0 {
		return err
	}
	return errors.New(w.reason())
}

// Working returns nil while an element runs or waits. Otherwise Working returns the reason why no element does. Until
// the first element has started, Working reports to the user why the elements wait.
func (a *Array) Working(ctx context.Context) error {
	states, err := a.states(ctx, unfinished)
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil && time.Since(a.answered) < answerTime:
		return nil
	case err != nil:
		return fmt.Errorf("squeue does not report the state of job %s: %w", quote.Word(a.job), err)
	}
	if a.answered = time.Now(); len(states) == 0 {
		return fmt.Errorf("job %s has ended: %s", quote.Word(a.job),
			cmp.Or(a.lastWords(), "its elements have said nothing"))
	}
	if !a.runs {
		for _, state := range states {
			a.runs = a.runs || state != "PENDING"
		}
		if a.runs {
			a.Tell(fmt.Sprintf("job %s runs", a.job))
		} else {
			a.waits.look(ctx)
		}
	}
	return nil
}

// states returns the states of those elements that are in one of the given states.
func (a *Array) states(ctx context.Context, of string) (states []string, err error) {
	out, said, err := a.call(ctx, "squeue", "", "--noheader", "--array", "--jobs="+a.job, "--states="+of, "--format=%T")
	if err != nil {
		if strings.Contains(said.reason(), "Invalid job id") { // squeue forgets a finished job after a while
			return nil, nil
		}
		return nil, said.or(err)
	}
	return strings.Fields(out), nil
}

// lastWords returns the last message of psbench in an element's output. lastWords uses the first element with a
// message.
func (a *Array) lastWords() string {
	for _, path := range a.logs() {
		text, err := os.ReadFile(path) // #nosec G304 -- in the user's folder
		if err != nil {
			continue
		}
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		for i := len(lines) - 1; i >= 0; i-- {
			if said, own := strings.CutPrefix(lines[i], "psbench: "); own && said != "interrupted" {
				return quote.Message(said)
			}
		}
	}
	return ""
}

func (a *Array) logs() []string {
	all, _ := filepath.Glob(filepath.Join(a.Prints, "slurm-"+a.job+"-*.log")) // no error, because the pattern is valid
	return all
}

// Cancel cancels the rest of a submitted array and waits until it has ended. Cancel removes the output of the elements
// unless keep is set.
func (a *Array) Cancel(ctx context.Context, keep bool) error {
	if a.job == "" {
		return nil
	}
	_, said, err := a.call(ctx, "scancel", "", a.job) // fails for a finished job
	// If an element's node is lost, the element stays in the state COMPLETING until Slurm gives the node up. Cancel
	// does not wait for this, because the element does nothing any more.
	of := unfinished
	if ctx.Err() != nil {
		of += ",COMPLETING"
	}
	for late := time.Now().Add(cancelTime); ; time.Sleep(time.Second / 2) {
		states, serr := a.states(ctx, of)
		if serr == nil && len(states) == 0 {
			break
		}
		if time.Now().After(late) {
			return fmt.Errorf("job %s has not ended %v after scancel: %w", quote.Word(a.job), cancelTime,
				cmp.Or(serr, said.or(err), errors.New("it is "+strings.Join(states, ", "))))
		}
	}
	if !keep {
		for _, path := range a.logs() {
			_ = os.Remove(path)
		}
	}
	return nil
}
