package team

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

	"golang.org/x/sys/unix"

	"github.com/psbench/psbench/core/plan/config/option"
	"github.com/psbench/psbench/core/process/agent"
	"github.com/psbench/psbench/core/process/launchers"
	"github.com/psbench/psbench/internal/identity"
	"github.com/psbench/psbench/internal/interrupt"
	"github.com/psbench/psbench/internal/quote"
)

// Rendezvous holds the options by which the tasks of a command find each other. Rendezvous is empty if the launcher
// needs no help for this.
type Rendezvous struct {
	// HostsFile is the path of a file that lists the hosts on which ssh starts agents.
	HostsFile string
	// SecretFile and Core are for the tasks of a launcher without PMI. SecretFile is the path of a file with the tasks'
	// common secret. Core is the address HOST:PORT on which the first task waits for the others.
	SecretFile, Core string
}

// These flags set the fields of a Rendezvous.
const (
	HostsFlag      = "hosts"
	SecretFileFlag = "secret-file"
	CoreFlag       = "core"
)

// mostSecret limits the size of a secret file in bytes.
const mostSecret = 4096

// Flag returns the flag that the user gave so that the tasks find each other, or "" if the user gave none.
func (r Rendezvous) Flag() string {
	switch {
	case r.Core != "":
		return CoreFlag
	case r.SecretFile != "":
		return SecretFileFlag
	}
	return ""
}

// Unused returns an error if flags have no effect because of how this process was started. A user who gives such flags
// expects other tasks.
func (r Rendezvous) Unused(f *launchers.Finding) error {
	flag := r.Flag()
	given := flag != ""
	switch {
	case r.HostsFile != "" && given:
		return fmt.Errorf(
			"--%s and --%s are given, but ssh gives the agents of a hosts file all that they need: leave --%s out",
			HostsFlag, flag, flag)
	case r.HostsFile != "" && f.Launcher != launchers.HostsFile && (f.Place.Several() || f.Launcher == launchers.Alone):
		return fmt.Errorf("--%s is given, but %s decides which hosts there are (%s): leave one out", HostsFlag,
			f.Decides(), f.Why)
	case given && f.Speaks():
		return fmt.Errorf("--%s is given, but with %s the tasks find each other without it: leave it out", flag,
			f.Launcher)
	case given && !f.Place.Several():
		return fmt.Errorf("--%s is given, but this process runs alone (%s): leave it out, or start psbench as several tasks, as mpirun does",
			flag, f.Why)
	}
	return nil
}

// secret returns the user's secret, or nil. secret removes the secret from the environment, so that child processes do
// not inherit it.
func (r Rendezvous) secret() ([]byte, error) {
	text := os.Getenv(option.SecretVariable)
	given := text != ""
	if err := os.Unsetenv(option.SecretVariable); err != nil {
		return nil, err
	}
	switch {
	case given && r.SecretFile != "":
		return nil, fmt.Errorf("both --%s and %s give a secret: leave one out", SecretFileFlag, option.SecretVariable)
	case given:
		return trimmed(option.SecretVariable, []byte(text))
	case r.SecretFile != "":
		return readSecret(r.SecretFile)
	}
	return nil, nil
}

// readSecret reads a secret file. Only the owner may have access to the file. To avoid a race, it checks the mode of
// the opened file.
func readSecret(path string) ([]byte, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0) // #nosec G304 -- the user names it; a pipe would have psbench wait
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", SecretFileFlag, err)
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, fmt.Errorf("--%s: %w", SecretFileFlag, err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("--%s: %s is no regular file", SecretFileFlag, quote.Word(path))
	case info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("--%s: %s has mode %04o, so others than its owner may use it: it must be 0600",
			SecretFileFlag, quote.Word(path), info.Mode().Perm())
	case info.Size() > mostSecret:
		return nil, fmt.Errorf("--%s: %s has %d bytes but a secret has %d at most", SecretFileFlag, quote.Word(path),
			info.Size(), mostSecret)
	}
	text := make([]byte, info.Size())
	if _, err := file.ReadAt(text, 0); err != nil {
		return nil, fmt.Errorf("--%s: %s: %w", SecretFileFlag, quote.Word(path), err)
	}
	return trimmed("--"+SecretFileFlag+": "+quote.Word(path), text)
}

// trimmed strips white space around a secret. trimmed returns an error if the secret is too short. from says where the
// secret was read, for messages.
func trimmed(from string, text []byte) ([]byte, error) {
	secret := bytes.TrimSpace(text)
	switch n := len(secret); {
	case len(text) == 0:
		return nil, fmt.Errorf("%s is empty but a secret has %d bytes at least", from, identity.MinimumSecret)
	case n < identity.MinimumSecret:
		return nil, fmt.Errorf("%s has %d bytes, white space around them not counted, but a secret has %d at least",
			from, n, identity.MinimumSecret)
	}
	return secret, nil
}

// address returns the address of the first task, and the flag or variable that gives it. Both results are "" if none
// does.
func (r Rendezvous) address(f *launchers.Finding, environ []string) (core, from string) {
	if r.Core != "" {
		return r.Core, "--" + CoreFlag
	}
	return f.Core(environ)
}

// checkCore returns an error early if the address of the first task is not valid.
func checkCore(core, from string) error {
	host, port, err := net.SplitHostPort(core)
	if number, wrong := strconv.ParseUint(port, 10, 16); err != nil || host == "" || wrong != nil || number == 0 {
		return fmt.Errorf("%s is %s but must be HOST:PORT, the address of the first task, with a port from 1 to 65535",
			from, quote.String(core))
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.WithZone("").Unmap().IsUnspecified() {
		return fmt.Errorf("%s: %s stands for all addresses of a host: it must be one of them", from, host)
	}
	return nil
}

// checkHere returns an error if the address of the core belongs to another host, because the first task runs here.
// checkHere does not check torchrun's address, which torchrun also uses for its own purposes. checkHere does not check
// in pods, which may be behind a service or start before their name is known.
func checkHere(ctx context.Context, core, from string, environ []string) error {
	if from != "--"+CoreFlag && from != option.CoreVariable || variable(environ, "KUBERNETES_SERVICE_HOST") != "" {
		return nil
	}
	host, _, _ := net.SplitHostPort(core)
	if _, err := netip.ParseAddr(host); err == nil {
		return nil // listening on another host's address fails later
	}
	addresses, err := lookup(ctx, host)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return elsewhere(core, from, host, addresses, err)
}

// elsewhere returns an error if the core's host is not this host. addresses and err are the result of the lookup of its
// name.
func elsewhere(core, from, host string, addresses []netip.Addr, err error) error {
	switch {
	case err != nil:
		return fmt.Errorf("%s is %s, but this task, the first one, finds no address of %s: %w", from, quote.Word(core),
			quote.Word(host), lookupCause(err))
	case !slices.ContainsFunc(addresses, isOwn):
		return fmt.Errorf("%s is %s, but %s, which is %s, is another host than this one: the first task must run there",
			from, quote.Word(core), quote.Word(host), addresses[0])
	}
	return nil
}

// join connects this task to the others at the core's address.
func (m *Member) join(ctx context.Context, listen netip.Addr) (*agent.Meeting, error) {
	f := m.Finding
	secret, err := m.Rendezvous.secret()
	if err != nil {
		return nil, err
	}
	core, from := m.Rendezvous.address(f, m.Environ)
	switch {
	case secret == nil:
		return nil, cmp.Or(f.Crowded(), f.Stranded())
	case f.Place.Size == 0:
		return nil, fmt.Errorf("%s does not give the number of tasks: its manifest must set PSBENCH_TASKS",
			f.Launcher)
	case core == "":
		return nil, fmt.Errorf(
			"%s does not say where the first task is: give all of them its address HOST:PORT by --%s or %s",
			f.Launcher, CoreFlag, option.CoreVariable)
	}
	if err := checkCore(core, from); err != nil {
		return nil, err
	}
	defer interrupt.Hold(ctx)()
	defer interrupt.Bounded(ctx)() // the timeout limits the join
	if f.Place.Rank == 0 {
		if err := checkHere(ctx, core, from, m.Environ); err != nil {
			return nil, err
		}
	}
	met, err := agent.Join(ctx, secret, core, task(f.Place), listen, m.timeout())
	if err != nil && !errors.Is(err, agent.ErrFailed) {
		return nil, m.linger(ctx, err) // so that the others have time to report what they wait for
	}
	return met, err
}
