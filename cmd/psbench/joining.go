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
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"github.com/psbench/psbench/core/plan/config/option"
	"github.com/psbench/psbench/core/process/agent"
	"github.com/psbench/psbench/core/process/launchers"
	identities "github.com/psbench/psbench/internal/identity"
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
	cmd.Flags().StringVar(&j.secretFile, secretFileFlag, "", "secret by which the tasks of a launcher without PMI know each other, in a `FILE` of mode 0600; also the value of "+option.SecretVariable)
	cmd.Flags().StringVar(&j.core, coreFlag, "", "where the first task of a launcher without PMI awaits the others, `HOST:PORT`; also "+option.CoreVariable)
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

// checkGiven refuses flags that are given empty, as by a variable of a script that is not set.
func checkGiven(flags *pflag.FlagSet) error {
	for _, name := range []string{listFlag, secretFileFlag, coreFlag} {
		if f := flags.Lookup(name); f.Changed && f.Value.String() == "" {
			what := "the name of a file"
			if name == coreFlag {
				what = "HOST:PORT, the address of the first task"
			}
			return usagef("--%s is \"\" but must be %s", name, what)
		}
	}
	return nil
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
	text := os.Getenv(option.SecretVariable)
	given := text != ""
	if err := os.Unsetenv(option.SecretVariable); err != nil {
		return nil, err
	}
	switch {
	case given && j.secretFile != "":
		return nil, fmt.Errorf("both --%s and %s give a secret: leave one out", secretFileFlag, option.SecretVariable)
	case given:
		return trimmed(option.SecretVariable, []byte(text))
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
	return trimmed("--"+secretFileFlag+": "+quote.Word(path), text)
}

// trimmed is a secret without the white space around it, which must be long enough; from says where it is from.
func trimmed(from string, text []byte) ([]byte, error) {
	secret := bytes.TrimSpace(text)
	switch n := len(secret); {
	case len(text) == 0:
		return nil, fmt.Errorf("%s is empty but a secret has %d bytes at least", from, identities.MinimumSecret)
	case n < identities.MinimumSecret:
		return nil, fmt.Errorf("%s has %d bytes, white space around them not counted, but a secret has %d at least", from, n, identities.MinimumSecret)
	}
	return secret, nil
}

// address is where the first task awaits the others, "" where nobody tells it, and the flag or variable that does.
func (j *joining) address(f *launchers.Finding, environ []string) (core, from string) {
	if j.core != "" {
		return j.core, "--" + coreFlag
	}
	return f.Core(environ)
}

// checkCore refuses what is no address of a first task, before anybody waits for it.
func checkCore(core, from string) error {
	host, port, err := net.SplitHostPort(core)
	if number, wrong := strconv.ParseUint(port, 10, 16); err != nil || host == "" || wrong != nil || number == 0 {
		return fmt.Errorf("%s is %s but must be HOST:PORT, the address of the first task, with a port from 1 to 65535", from, quote.String(core))
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.WithZone("").Unmap().IsUnspecified() {
		return fmt.Errorf("%s: %s stands for all addresses of a host: it must be one of them", from, host)
	}
	return nil
}

// checkHere refuses a name of the core that is not of this host, where the first task runs. What torchrun says is not
// for psbench alone, and a pod may be behind a service, or run before its own name is known.
func (a *app) checkHere(ctx context.Context, core, from string) error {
	if from != "--"+coreFlag && from != option.CoreVariable || a.variable("KUBERNETES_SERVICE_HOST") != "" {
		return nil
	}
	host, _, _ := net.SplitHostPort(core)
	if _, err := netip.ParseAddr(host); err == nil {
		return nil // at an address of another host this one cannot listen
	}
	addresses, err := lookup(ctx, host)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return elsewhere(core, from, host, addresses, err)
}

// elsewhere refuses a host of the core by the addresses that were found for it, or by why there are none.
func elsewhere(core, from, host string, addresses []netip.Addr, err error) error {
	switch {
	case err != nil:
		return fmt.Errorf("%s is %s, but this task, the first one, finds no address of %s: %w", from, quote.Word(core), quote.Word(host), lookupCause(err))
	case !slices.ContainsFunc(addresses, isOwn):
		return fmt.Errorf("%s is %s, but %s, which is %s, is another host than this one: the first task must run there", from, quote.Word(core), quote.Word(host), addresses[0])
	}
	return nil
}

// join has this task find the others at the address of the core.
func (a *app) join(ctx context.Context, j *joining, f *launchers.Finding, listen netip.Addr, timeout time.Duration) (*agent.Meeting, error) {
	secret, err := j.secret()
	if err != nil {
		return nil, err
	}
	core, from := j.address(f, a.environ)
	switch {
	case secret == nil:
		return nil, cmp.Or(f.Crowded(), f.Stranded())
	case f.Place.Size == 0:
		return nil, fmt.Errorf("%s does not say how many tasks there are: its manifest must, by PSBENCH_TASKS", f.Launcher)
	case core == "":
		return nil, fmt.Errorf("%s does not say where the first task is: give all of them its address HOST:PORT by --%s or %s", f.Launcher, coreFlag, option.CoreVariable)
	}
	if err := checkCore(core, from); err != nil {
		return nil, err
	}
	defer hold(ctx)()
	defer bounded(ctx)() // by timeout
	if f.Place.Rank == 0 {
		if err := a.checkHere(ctx, core, from); err != nil {
			return nil, err
		}
	}
	m, err := agent.Join(ctx, secret, core, task(f.Place), listen, timeout)
	if err != nil && !errors.Is(err, agent.ErrFailed) {
		return nil, a.linger(ctx, err) // so that the others tell what they wait for
	}
	return m, err
}
