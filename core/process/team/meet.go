package team

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"github.com/psbench/psbench/core/plan/config/option"
	"github.com/psbench/psbench/core/process/agent"
	"github.com/psbench/psbench/core/process/agent/ssh"
	"github.com/psbench/psbench/core/process/launchers/pmi"
	"github.com/psbench/psbench/core/process/launchers/pmix"
	"github.com/psbench/psbench/core/process/launchers/rollcall"
	"github.com/psbench/psbench/internal/interrupt"
)

// meet connects this task to the others, by the launcher's protocol or as the Rendezvous says.
func (m *Member) meet(ctx context.Context, listen netip.Addr) (met *agent.Meeting, err error) {
	f := m.Finding
	talk := func(client *pmi.Client) (err error) {
		met, err = agent.Meet(ctx, client, task(f.Place), listen)
		return err
	}
	switch {
	case f.Speaks():
		if err := os.Unsetenv(option.SecretVariable); err != nil { // the launcher provides a better secret
			return nil, err
		}
		err = m.overPMI(ctx, talk)
		return met, err
	case m.Rendezvous.Flag() != "" || variable(m.Environ, option.SecretVariable) != "" || !f.SpeaksPMIx() ||
		f.Crowded() != nil:
		return m.join(ctx, listen)
	}
	err = m.overPMIx(ctx, talk)
	if errors.Is(err, errNoPMIx) {
		return nil, fmt.Errorf("%w (%w)", f.Stranded(), err)
	}
	return met, err
}

// RollCall makes the tasks of a launcher with PMI exchange their descriptions. Only rank 0 gets the tasks. Other ranks,
// and tasks of other launchers, get an empty list.
func (m *Member) RollCall(ctx context.Context) (tasks []rollcall.Task, err error) {
	call := func(client *pmi.Client) (err error) {
		tasks, err = rollcall.Call(ctx, client, task(m.Finding.Place))
		return err
	}
	switch {
	case m.Finding.Speaks():
		err = m.overPMI(ctx, call)
	case m.Finding.SpeaksPMIx():
		if err = m.overPMIx(ctx, call); errors.Is(err, errNoPMIx) {
			return nil, nil
		}
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, m.linger(ctx, err)
	}
	return tasks, err
}

// overPMI calls talk with a client for the connection that the launcher gave to this task. Afterwards overPMI closes
// the connection.
func (m *Member) overPMI(ctx context.Context, talk func(*pmi.Client) error) error {
	conn, err := pmi.Inherited(m.Finding.Connection())
	if err != nil {
		return err
	}
	defer interrupt.Hold(ctx)()
	defer interrupt.Bounded(ctx)() // the timeout limits the conversation
	client, err := pmi.Open(ctx, conn, m.timeout())
	if err != nil {
		return err
	}
	return converse(ctx, client, talk)
}

// errNoPMIx means that this process cannot use PMIx of its launcher.
var errNoPMIx = errors.New("PMIx cannot be used here")

// overPMIx does the same as overPMI, through a child process that speaks PMIx with the launcher.
func (m *Member) overPMIx(ctx context.Context, talk func(*pmi.Client) error) error {
	defer interrupt.Hold(ctx)()
	defer interrupt.Bounded(ctx)() // the timeout limits the conversation
	conn, end, err := pmix.Start()
	if err != nil {
		return err
	}
	defer end()
	client, err := pmi.Open(ctx, conn, m.timeout())
	if refused := (*pmi.RefusedError)(nil); errors.As(err, &refused) {
		return fmt.Errorf("%w: %s", errNoPMIx, strings.ReplaceAll(refused.Reason, "_", " "))
	}
	if err != nil {
		return err
	}
	return converse(ctx, client, talk)
}

// converse calls talk and then closes the connection.
func converse(ctx context.Context, client *pmi.Client, talk func(*pmi.Client) error) error {
	err := talk(client)
	if closed := client.Close(context.WithoutCancel(ctx)); err == nil {
		err = closed
	}
	return err
}

// overHosts makes ssh start agents on the hosts of a hosts file. This process becomes their core.
func (m *Member) overHosts(ctx context.Context, gpus int, run func(*Team) error) error {
	if err := os.Unsetenv(option.SecretVariable); err != nil { // the run creates its own secret
		return err
	}
	listen, err := addressHere(m.Config.Interface)
	if err != nil {
		return err
	}
	o, err := m.sshOptions()
	if err != nil {
		return err
	}
	meeting, sessions, err := m.meetBySSH(ctx, o)
	if err != nil {
		return err
	}
	defer sessions.End()
	hosts, err := agent.Gather(ctx, meeting, o.Timeout)
	if err != nil {
		return err
	}
	sessions.Guard(hosts)
	place := m.Finding.Place
	t := &Team{hosts: hosts, here: place.Host, gpus: gpus, apart: place.Apart, listen: listen,
		Interface: m.Config.Interface}
	return t.lead(run)
}

// sshOptions returns how ssh starts agents, and the data that the agents receive.
func (m *Member) sshOptions() (o ssh.Options, err error) {
	c := m.Config
	o = ssh.Options{Command: variable(m.Environ, option.SSHVariable), Timeout: m.timeout(), Invitation: ssh.Invitation{
		TimeoutS: c.RPCTimeout, Interface: c.Interface, NoUserRegistry: c.NoUserRegistry,
		Variables: ssh.Carried(m.Environ), CUDA: m.OnCUDA,
	}}
	if o.Program, err = os.Executable(); err != nil {
		return o, fmt.Errorf("psbench cannot find its own path, which the other hosts need: %w", err)
	}
	for _, file := range c.Registry {
		path, err := filepath.Abs(file)
		if err != nil {
			return o, err
		}
		o.Invitation.Registry = append(o.Invitation.Registry, path)
	}
	return o, nil
}

func (m *Member) meetBySSH(ctx context.Context, o ssh.Options) (*agent.Meeting, *ssh.Sessions, error) {
	defer interrupt.Hold(ctx)()
	defer interrupt.Bounded(ctx)() // the timeout limits the meeting
	place := m.Finding.Place
	return ssh.Meet(ctx, task(place), place.Others, o)
}
