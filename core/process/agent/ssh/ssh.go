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

// Options configures a meeting by ssh.
type Options struct {
	// Command is the command to run instead of ssh, from PSBENCH_SSH. Spaces separate its words. If Command is empty,
	// Meet runs ssh.
	Command string
	// Program is the path of this psbench binary. Hosts whose line in the list gives no path use it too.
	Program string
	// Timeout limits how long the meeting may take.
	Timeout time.Duration
	// Invitation is the common part of all agents' invitations: Meet adds secret, rank and size.
	Invitation Invitation
}

// Sessions holds the ssh sessions of all agents in a run.
type Sessions struct {
	all     []*session
	working sync.WaitGroup
}

// secretBytes is the length of a run's secret in bytes.
const secretBytes = 32

// Meet starts an agent on each of the hosts and collects the agents' answers. The core is the task me, with rank 0; the
// hosts get ranks 1, 2 and so on, and keep the names of the list. The caller must end the sessions.
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

// open starts all agents at once. If one agent fails, open ends the others.
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

// words returns the command line that starts the agent on a host. The command line does not contain the secret.
// BatchMode makes ssh fail instead of asking the user. If the link breaks, ssh ends within the timeout, even if the
// core is gone. Forwarding and shared connections are turned off, because they serve interactive sessions.
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

// notStarted returns the error for an ssh, or a replacement command, that cannot be started.
func notStarted(program string, o Options, err error) error {
	var search *exec.Error
	var file *fs.PathError
	switch { // both kinds of error contain the program's name
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

// name gives each task its name from the list, and returns an error if two tasks share a host.
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

// Guard marks a host as lost when its ssh ends. The hosts must be in the order of Gather.
func (all *Sessions) Guard(hosts []*agent.Host) {
	for i, s := range all.all {
		all.working.Go(func() {
			<-s.ended
			hosts[i].Lose(s.why())
		})
	}
}

// End ends the remaining agents and waits until all have ended.
func (all *Sessions) End() {
	for _, s := range all.all {
		all.working.Go(func() { s.end() })
	}
	all.working.Wait()
}
