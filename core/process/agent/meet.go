package agent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/psbench/psbench/core/process/launchers/pmi"
	"github.com/psbench/psbench/core/process/launchers/rollcall"
	"github.com/psbench/psbench/internal/identity"
	"github.com/psbench/psbench/internal/quote"
)

// Meeting is the result of Meet or Join: all tasks of the job have exchanged their addresses.
type Meeting struct {
	Identity *identity.Identity
	// Secret is the secret behind Identity. The core passes it to conducted processes. Secret is nil if there are no
	// such processes.
	Secret []byte
	// Listener is an agent's listener. The core, which is rank 0, has none.
	Listener net.Listener
	// Tasks lists all tasks of the job. Only the core has this list.
	Tasks []rollcall.Task
}

// Meet lets the tasks of a launcher with PMI-1 find each other, and gives them a new secret. Agents listen on the
// address listen. If the tasks do not fit together, rank 0 gets the reason and the other ranks get ErrFailed.
func Meet(ctx context.Context, c *pmi.Client, me rollcall.Task, listen netip.Addr) (met *Meeting, err error) {
	secret, err := rollcall.Secret(ctx, c, me)
	if err != nil {
		return nil, err
	}
	m := &Meeting{Secret: secret}
	if m.Identity, err = identity.Of(secret, Purpose); err != nil {
		return nil, err
	}
	if me.Rank > 0 {
		listener, err := net.Listen("tcp", netip.AddrPortFrom(listen, 0).String())
		if err != nil {
			return nil, fmt.Errorf("the agent cannot listen on %s: %w", listen, err)
		}
		defer func() {
			if met == nil {
				_ = listener.Close()
			}
		}()
		m.Listener, me.Address = listener, listener.Addr().String()
	}
	m.Tasks, err = rollcall.Call(ctx, c, me)
	if me.Rank == 0 && err == nil {
		err = apart(m.Tasks)
	}
	failed, verr := rollcall.Verdict(ctx, c, me, err != nil)
	switch {
	case err != nil:
		return nil, err
	case verr != nil:
		return nil, verr
	case failed:
		return nil, ErrFailed
	}
	return m, nil
}

// apart returns an error if two tasks share a host, because each task would use the whole host.
func apart(tasks []rollcall.Task) error {
	first := map[string]rollcall.Task{}
	for _, t := range tasks {
		if other, taken := first[t.Host]; taken {
			instead := "start one task on each host, as with srun --ntasks-per-node=1 or mpiexec -ppn 1"
			if !slices.ContainsFunc(tasks, func(o rollcall.Task) bool { return o.Host != t.Host }) {
				instead = fmt.Sprintf("type it without the launcher, as in psbench run --ntrainer %d", len(tasks))
			}
			return fmt.Errorf("ranks %d and %d both run on %s, but psbench has one task on each host, which starts all processes there: %s",
				other.Rank, t.Rank, quote.Word(t.Host), instead)
		}
		first[t.Host] = t
	}
	return nil
}

// Gather connects to the agents of all tasks except rank 0. Gather returns the hosts in rank order.
func Gather(ctx context.Context, m *Meeting, timeout time.Duration) ([]*Host, error) {
	hosts := make([]*Host, len(m.Tasks)-1)
	errs := make(chan error, len(hosts))
	for i, t := range m.Tasks[1:] {
		go func() {
			var err error
			hosts[i], err = Dial(ctx, m.Tasks[0].Host, t.Host, t.Address, m.Identity, timeout)
			errs <- err
		}()
	}
	var failed error
	for range hosts {
		if err := <-errs; err != nil && failed == nil {
			failed = err
		}
	}
	if failed != nil {
		_ = Leave(hosts, true)
		return nil, failed
	}
	return hosts, nil
}

// Leave notifies all agents that the core is done, and whether the core failed.
func Leave(hosts []*Host, failed bool) error {
	errs := make(chan error, len(hosts))
	for _, h := range hosts {
		go func() {
			if h == nil {
				errs <- nil
				return
			}
			errs <- h.Leave(failed)
		}()
	}
	var all []error
	for range hosts {
		all = append(all, <-errs)
	}
	return errors.Join(all...)
}
