package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/psbench/psbench/core/process/launchers"
	"github.com/psbench/psbench/core/process/launchers/pmi"
	"github.com/psbench/psbench/core/process/launchers/pmix"
	"github.com/psbench/psbench/core/process/launchers/rollcall"
)

// hostsFlag is --hosts, after which a file may follow, with or without an equals sign.
type hostsFlag struct {
	given bool
	file  string
}

// noHostsFile is the value of a --hosts without one. No file has this name.
const noHostsFile = "/"

func (h *hostsFlag) String() string { return "" }
func (h *hostsFlag) Type() string   { return "hosts" }

// Set implements pflag.Value.
func (h *hostsFlag) Set(file string) error {
	switch file {
	case noHostsFile:
	case "":
		return errors.New("no file has an empty name")
	default:
		h.file = file
	}
	h.given = true
	return nil
}

// arguments takes the file of --hosts FILE, which reaches cobra as an argument.
func (h *hostsFlag) arguments(cmd *cobra.Command, args []string) error {
	if h.given && h.file == "" && len(args) == 1 {
		if h.file = args[0]; h.file == "" {
			return usagef("--%s is \"\" but must be %s", listFlag, flagTypes[h.Type()])
		}
		return nil
	}
	return noArguments(cmd, args)
}

// hosts shows which launcher has started this process, and with which others. Of several tasks the first one
// speaks for all, unless there is a failure that only another one can tell.
func (a *app) hosts(cmd *cobra.Command, file, format string) error {
	c, _, err := a.merge(cmd)
	if err != nil {
		return err
	}
	f := launchers.Look(a.system(file))
	if f.Err != nil {
		return f.Err
	}
	tasks, err := a.rollCall(cmd.Context(), f, time.Duration(c.RPCTimeout)*time.Second)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return a.linger(cmd.Context(), err)
	case err != nil || f.Place.Rank != 0:
		return err
	case format == "json":
		return encodeJSON(a.stdout, hostsDocument(f, tasks))
	}
	return a.printHosts(f, tasks)
}

// linger says that this task has waited in vain, and gives the others time to say so: launchers end all tasks
// when one has failed.
func (a *app) linger(ctx context.Context, err error) error {
	a.fail(err)
	select {
	case <-ctx.Done():
	case <-time.After(1500 * time.Millisecond): // all must be over two seconds after the timeout
	}
	return saidError{err}
}

// rollCall has the tasks of a launcher that lets them talk tell each other who they are. Rank 0 gets them; the
// others, and tasks of other launchers, get none.
func (a *app) rollCall(ctx context.Context, f *launchers.Finding, timeout time.Duration) (tasks []rollcall.Task, err error) {
	call := func(client *pmi.Client) (err error) {
		tasks, err = rollcall.Call(ctx, client, task(f.Place))
		return err
	}
	switch {
	case f.Speaks():
		err = overPMI(ctx, f, timeout, call)
	case f.SpeaksPMIx():
		if err = overPMIx(ctx, timeout, call); errors.Is(err, errNoPMIx) {
			return nil, nil
		}
	}
	return tasks, err
}

// overPMI has this task talk by the connection that its launcher gave to it, and hangs up.
func overPMI(ctx context.Context, f *launchers.Finding, timeout time.Duration, talk func(*pmi.Client) error) error {
	conn, err := pmi.Inherited(f.Connection())
	if err != nil {
		return err
	}
	defer hold(ctx)()
	defer bounded(ctx)() // by timeout
	client, err := pmi.Open(ctx, conn, timeout)
	if err != nil {
		return err
	}
	return converse(ctx, client, talk)
}

// errNoPMIx is of a launcher's PMIx that this process cannot use.
var errNoPMIx = errors.New("PMIx cannot be used here")

// overPMIx is overPMI by a process that speaks PMIx with the launcher.
func overPMIx(ctx context.Context, timeout time.Duration, talk func(*pmi.Client) error) error {
	defer hold(ctx)()
	defer bounded(ctx)() // by timeout
	conn, end, err := pmix.Start()
	if err != nil {
		return err
	}
	defer end()
	client, err := pmi.Open(ctx, conn, timeout)
	if refused := (*pmi.RefusedError)(nil); errors.As(err, &refused) {
		return fmt.Errorf("%w: %s", errNoPMIx, strings.ReplaceAll(refused.Reason, "_", " "))
	}
	if err != nil {
		return err
	}
	return converse(ctx, client, talk)
}

// converse talks, and hangs up.
func converse(ctx context.Context, client *pmi.Client, talk func(*pmi.Client) error) error {
	err := talk(client)
	if closed := client.Close(context.WithoutCancel(ctx)); err == nil {
		err = closed
	}
	return err
}
