package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/psbench/psbench/core/agent"
	"github.com/psbench/psbench/core/launchers"
	"github.com/psbench/psbench/internal/quote"
)

// joining is how a command comes to tasks on several hosts: by a file of hosts that has psbench start them, or what
// those of a launcher without PMI-1 find each other by.
type joining struct{ hosts, secretFile, core string }

// Names of what a user gives all tasks.
const (
	secretFileFlag = "secret-file"
	coreFlag       = "core"
	listFlag       = "hosts"
)

// mostSecret is how long the file of a secret may be in bytes.
const mostSecret = 4096

func (j *joining) addFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&j.hosts, listFlag, "", "hosts of the run, one a line of a `FILE`; ssh starts an agent on each")
	cmd.Flags().StringVar(&j.secretFile, secretFileFlag, "", "secret by which the tasks of a launcher without PMI know each other, in a `FILE` of mode 0600; also the value of "+launchers.SecretVariable)
	cmd.Flags().StringVar(&j.core, coreFlag, "", "where the first task of a launcher without PMI awaits the others, `HOST:PORT`; also "+launchers.CoreVariable)
}

// given is the flag by which tasks are to find each other, "" if there is none.
func (j *joining) given() string {
	switch {
	case j.core != "":
		return coreFlag
	case j.secretFile != "":
		return secretFileFlag
	}
	return ""
}

// unused refuses what is given to a process in vain: whoever gives it means others to come.
func (j *joining) unused(f *launchers.Finding) error {
	flag := j.given()
	given := flag != ""
	switch {
	case j.hosts != "" && given:
		return usagef("--%s and --%s are given, but the agents of a file of hosts are told where to come by ssh: leave --%s out", listFlag, flag, flag)
	case j.hosts != "" && f.Launcher != launchers.HostsFile && (f.Place.Several() || f.Launcher == launchers.Alone):
		return usagef("--%s is given, but %s decides which hosts there are (%s): leave one out", listFlag, f.Decides(), f.Why)
	case given && f.Speaks():
		return usagef("--%s is given, but by %s the tasks find each other without it: leave it out", flag, f.Launcher)
	case given && !f.Place.Several():
		return usagef("--%s is given, but this process runs alone (%s): leave it out, or start psbench as several tasks, as mpirun does", flag, f.Why)
	}
	return nil
}

// secret is what the user has given, nil if nothing. Processes that this one starts do not get it.
func (j *joining) secret() ([]byte, error) {
	text := os.Getenv(launchers.SecretVariable)
	given := text != ""
	if err := os.Unsetenv(launchers.SecretVariable); err != nil {
		return nil, err
	}
	switch {
	case given && j.secretFile != "":
		return nil, fmt.Errorf("both --%s and %s give a secret: leave one out", secretFileFlag, launchers.SecretVariable)
	case given:
		return []byte(strings.TrimSpace(text)), nil
	case j.secretFile != "":
		return readSecret(j.secretFile)
	}
	return nil, nil
}

// readSecret reads a file that only its owner can. The mode is that of the file which is read, not of its name.
func readSecret(path string) ([]byte, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0) // #nosec G304 -- the user names it; a pipe would have psbench wait
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", secretFileFlag, err)
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, fmt.Errorf("--%s: %w", secretFileFlag, err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("--%s: %s is no regular file", secretFileFlag, quote.Word(path))
	case info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("--%s: %s has mode %04o, so others than its owner may use it: it must be 0600", secretFileFlag, quote.Word(path), info.Mode().Perm())
	case info.Size() > mostSecret:
		return nil, fmt.Errorf("--%s: %s has %d bytes but a secret has %d at most", secretFileFlag, quote.Word(path), info.Size(), mostSecret)
	}
	text := make([]byte, info.Size())
	if _, err := file.ReadAt(text, 0); err != nil {
		return nil, fmt.Errorf("--%s: %s: %w", secretFileFlag, quote.Word(path), err)
	}
	return bytes.TrimSpace(text), nil
}

// checkCore refuses what is no address of a first task, before anybody waits for it.
func (j *joining) checkCore(core string) error {
	host, port, err := net.SplitHostPort(core)
	if number, wrong := strconv.ParseUint(port, 10, 16); err == nil && host != "" && wrong == nil && number > 0 {
		return nil
	}
	from := "--" + coreFlag
	if j.core == "" {
		from = launchers.CoreVariable
	}
	return fmt.Errorf("%s is %s but must be HOST:PORT, the address of the first task, with a port from 1 to 65535", from, quote.String(core))
}

// join has this task find the others at the address of the core.
func (a *app) join(ctx context.Context, j *joining, f *launchers.Finding, listen netip.Addr, timeout time.Duration) (*agent.Meeting, error) {
	secret, err := j.secret()
	if err != nil {
		return nil, err
	}
	core := cmp.Or(j.core, f.Core(a.environ))
	switch {
	case secret == nil:
		return nil, f.Stranded()
	case f.Place.Size == 0:
		return nil, fmt.Errorf("%s does not say how many tasks there are: its manifest must, by PSBENCH_TASKS", f.Launcher)
	case core == "":
		return nil, fmt.Errorf("%s does not say where the first task is: give all of them its address HOST:PORT by --%s or %s", f.Launcher, coreFlag, launchers.CoreVariable)
	}
	if err := j.checkCore(core); err != nil {
		return nil, err
	}
	defer hold(ctx)()
	defer bounded(ctx)() // by timeout
	m, err := agent.Join(ctx, secret, core, task(f.Place), listen, timeout)
	if err != nil && !errors.Is(err, agent.ErrFailed) {
		return nil, a.linger(ctx, err) // so that the others tell what they wait for
	}
	return m, err
}
