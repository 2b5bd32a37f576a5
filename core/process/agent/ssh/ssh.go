package ssh

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/psbench/psbench/core/plan/config/option"
	"github.com/psbench/psbench/core/process/agent"
	"github.com/psbench/psbench/core/process/launchers"
	"github.com/psbench/psbench/core/process/launchers/rollcall"
	"github.com/psbench/psbench/internal/identity"
	"github.com/psbench/psbench/internal/quote"
)

// Options of a meeting by ssh.
type Options struct {
	// Command replaces ssh, as in PSBENCH_SSH: words separated by spaces, or "" for ssh.
	Command string
	// Program is the path of this psbench, also on hosts whose line gives no other path.
	Program string
	// Timeout limits the meeting.
	Timeout time.Duration
	// Invitation is the invitation of all agents, without secret, rank and size.
	Invitation Invitation
}

// Sessions are the agents of a run, each with its ssh.
type Sessions struct {
	all     []*session
	working sync.WaitGroup
}

// secretBytes is the length of the secret of a run.
const secretBytes = 32

// Meet starts an agent on each of these hosts and collects their answers. The hosts are ranks 1, 2 and so on of a
// run whose core is me, and keep their names in the list. The caller must end the sessions.
func Meet(ctx context.Context, me rollcall.Task, hosts []launchers.Host, o Options) (*agent.Meeting, *Sessions, error) {
	if o.Command != "" && strings.TrimSpace(o.Command) == "" {
		return nil, nil, fmt.Errorf("%s is %s but must be a command, as in ssh -F cluster.conf: leave it out for ssh",
			option.SSHVariable, quote.String(o.Command))
	}
	o.Invitation.Secret, o.Invitation.Size = make([]byte, secretBytes), 1+len(hosts)
	_, _ = rand.Read(o.Invitation.Secret) // never fails
	id, err := identity.Of(o.Invitation.Secret, agent.Purpose)
	if err != nil {
		return nil, nil, err
	}
	all := &Sessions{}
	tasks, err := all.open(ctx, hosts, o)
	if err == nil {
		tasks = append([]rollcall.Task{me}, tasks...)
		err = name(tasks, hosts)
	}
	if err == nil {
		err = rollcall.Check(tasks, nil)
	}
	if err != nil {
		all.End()
		return nil, nil, err
	}
	return &agent.Meeting{Identity: id, Tasks: tasks}, all, nil
}

// open starts all agents at once. The first failure ends the others.
func (all *Sessions) open(ctx context.Context, hosts []launchers.Host, o Options) ([]rollcall.Task, error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var inviting sync.WaitGroup
	defer inviting.Wait()
	tasks := make([]rollcall.Task, len(hosts))
	for i, host := range hosts {
		list := words(host, o)
		s, err := begin(list, host, i+1)
		if err != nil {
			err = notStarted(list[0], o, err)
			fail(err)
			return nil, err
		}
		all.all = append(all.all, s)
		all.working.Go(s.wait)
		invitation := o.Invitation
		invitation.Rank = s.rank
		inviting.Go(func() {
			limited, stop := context.WithTimeout(ctx, o.Timeout)
			defer stop()
			var err error
			if tasks[i], err = s.invite(limited, invitation); err == nil {
				return
			}
			if errors.Is(err, context.DeadlineExceeded) {
				err = fmt.Errorf("the agent on %s has not answered within %.0f s; what ssh said last: %s",
					s.name(), o.Timeout.Seconds(), cmp.Or(quote.Message(s.said.String()), "nothing"))
			}
			fail(err)
		})
	}
	inviting.Wait()
	return tasks, context.Cause(ctx)
}

// words returns the command line that starts the agent on a host. It has no secret. BatchMode makes ssh fail
// instead of asking. A broken link ends ssh within the timeout, even if the core is gone. Options for interactive
// sessions are turned off: forwarding, and shared connections that stay open.
func words(host launchers.Host, o Options) []string {
	seconds := max(1, int(o.Timeout.Seconds()))
	list := strings.Fields(cmp.Or(o.Command, "ssh"))
	for _, option := range []string{
		"BatchMode=yes", "ConnectTimeout=" + strconv.Itoa(seconds),
		"ServerAliveInterval=" + strconv.Itoa(max(1, seconds/4)), "ServerAliveCountMax=3",
		"ClearAllForwardings=yes", "ForwardX11=no", "ForwardAgent=no", "ControlMaster=no", "PermitLocalCommand=no",
	} {
		list = append(list, "-o", option)
	}
	program := quote.Shell(cmp.Or(host.Program, o.Program))
	return append(list, "-T", "--", host.Target(), "exec "+program+" agent")
}

// notStarted is the error if ssh, or its replacement, cannot be started.
func notStarted(program string, o Options, err error) error {
	var search *exec.Error
	var file *fs.PathError
	switch { // both errors name the program
	case errors.As(err, &file):
		err = file.Err
	case errors.As(err, &search):
		err = search.Err
	}
	if o.Command == "" {
		return fmt.Errorf("ssh cannot be started: %w; %s can name another program", err, option.SSHVariable)
	}
	return fmt.Errorf("%s is %s, but %s cannot be started: %w",
		option.SSHVariable, quote.String(o.Command), quote.Word(program), err)
}

// name gives tasks the names of the list and refuses two tasks on one host.
func name(tasks []rollcall.Task, hosts []launchers.Host) error {
	first := map[string]string{tasks[0].Host: "this host"}
	for i, h := range hosts {
		t := &tasks[i+1]
		if other, taken := first[t.Host]; taken {
			return fmt.Errorf("%s (rank %d) and %s both are %s, but psbench has one task on each host: leave one out, and list this host by its own name",
				h.Name, t.Rank, other, quote.Word(t.Host))
		}
		first[t.Host], t.Host = h.Name, h.Name
	}
	return nil
}

// Guard marks hosts, in the order of Gather, as lost when their ssh ends.
func (all *Sessions) Guard(hosts []*agent.Host) {
	for i, s := range all.all {
		all.working.Go(func() {
			<-s.ended
			hosts[i].Lose(s.why())
		})
	}
}

// End ends the remaining agents and waits for all.
func (all *Sessions) End() {
	for _, s := range all.all {
		all.working.Go(func() { s.end() })
	}
	all.working.Wait()
}
