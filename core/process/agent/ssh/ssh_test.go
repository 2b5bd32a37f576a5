package ssh

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/psbench/psbench/core/process/launchers"
	"github.com/psbench/psbench/core/process/launchers/rollcall"
)

// When run as psbench agent, the test binary plays the psbench of a remote host.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "agent" {
		if err := double(); err != nil {
			_, _ = fmt.Fprintln(os.Stderr, "psbench:", err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// sshDouble is a script that accepts ssh's command line and runs the command on this machine. Variables give the agent
// the facts that it would know about its host.
const sshDouble = `#!/bin/sh
echo "$@" >> "$DOUBLE/lines"
while [ $# -gt 2 ]; do shift; done
echo the message of the day
echo a warning >&2
HOST=$1 exec sh -c "$2"
`

// double is a fake agent that answers and then waits until the core is gone. double records both steps in a file.
func double() error {
	host, folder := os.Getenv("HOST"), os.Getenv("DOUBLE")
	if host == "refuses" {
		return errors.New("no room here")
	}
	i, gone, err := Accept(context.Background(), os.Stdin)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, "secret"), i.Secret, 0o600); err != nil {
		return err
	}
	me := rollcall.Task{Rank: i.Rank, Size: i.Size, Host: host, Version: "v1", Binary: "0a"}
	switch host {
	case "silent":
		<-gone
		return nil
	case "stranger":
		fmt.Println(mark + base64.RawURLEncoding.EncodeToString([]byte(`{"rank":1,"size":2,"local_rank":0,"news":1}`)))
		<-gone
		return nil
	case "other":
		me.Version = "v2"
	case "confused":
		me.Rank++
		me.Size++
	case "again":
		me.Host = "good"
	}
	m, err := Join(i, me, netip.MustParseAddr("127.0.0.1"), os.Stdout)
	if err != nil {
		return err
	}
	<-gone
	_ = m.Listener.Close()
	return os.WriteFile(filepath.Join(folder, "left-"+host), nil, 0o600)
}

// meet starts fake agents for the hosts. The fake agents write their records to folder.
func meet(ctx context.Context, t *testing.T, timeout time.Duration,
	hosts ...string) (tasks []rollcall.Task, sessions *Sessions, folder string, err error) {
	t.Helper()
	folder = t.TempDir()
	program := filepath.Join(folder, "ssh")
	if err := os.WriteFile(program, []byte(sshDouble), 0o700); err != nil { // #nosec G306 -- a program
		t.Fatal(err)
	}
	t.Setenv("DOUBLE", folder)
	o := Options{Command: program + " -F  config", Timeout: timeout, Invitation: Invitation{TimeoutS: 7}}
	if o.Program, err = os.Executable(); err != nil {
		t.Fatal(err)
	}
	var list []launchers.Host
	for _, h := range hosts {
		name, path, _ := strings.Cut(h, " ")
		list = append(list, launchers.Host{Name: name, Program: path})
	}
	m, sessions, err := Meet(ctx, rollcall.Task{Size: 1 + len(list), Host: "core", Version: "v1", Binary: "0a"}, list,
		o)
	if err == nil {
		tasks = m.Tasks
	}
	return tasks, sessions, folder, err
}

const patience = time.Minute

// All agents answer, know the secret and leave when asked. No command line contains the secret.
func TestMeeting(t *testing.T) {
	tasks, sessions, folder, err := meet(t.Context(), t, patience, "good", "better")
	if err != nil {
		t.Fatal(err)
	}
	for rank, host := range []string{"core", "good", "better"} {
		t.Run(host, func(t *testing.T) {
			if tasks[rank].Rank != rank || tasks[rank].Host != host || (tasks[rank].Address == "") != (rank == 0) {
				t.Errorf("rank %d is %+v", rank, tasks[rank])
			}
		})
	}
	sessions.End()
	for _, host := range []string{"good", "better"} {
		t.Run(host, func(t *testing.T) {
			if _, err := os.Stat(filepath.Join(folder, "left-"+host)); err != nil {
				t.Error(err)
			}
		})
	}
	secret, err := os.ReadFile(filepath.Join(folder, "secret"))
	if err != nil || len(secret) != secretBytes || bytes.Equal(secret, make([]byte, secretBytes)) {
		t.Errorf("the secret is %x, %v", secret, err)
	}
	called, err := os.ReadFile(filepath.Join(folder, "lines"))
	if err != nil || strings.Count(string(called), " -T -- ") != 2 ||
		!strings.HasPrefix(string(called), "-F config -o BatchMode=yes -o ConnectTimeout=60 ") {
		t.Errorf("ssh was called so: %s, %v", called, err)
	}
	for _, form := range []string{string(secret), fmt.Sprintf("%x", secret), base64.StdEncoding.EncodeToString(secret),
		base64.RawURLEncoding.EncodeToString(secret)} {
		t.Run(form, func(t *testing.T) {
			if strings.Contains(string(called), form) {
				t.Errorf("the secret is on the command line %s", called)
			}
		})
	}
}

// Errors name the host and quote the last message of ssh or the agent. Agents that have answered are ended.
func TestNoMeeting(t *testing.T) {
	for hosts, want := range map[string]string{
		"good,refuses":                 "no agent on refuses (rank 2): ssh has ended (exit status 1): no room here",
		"good,silent":                  "the agent on silent (rank 2) has not answered within 1 s; what ssh said last: a warning",
		"stranger":                     "the answer of stranger (rank 1) cannot be read: it is no task of this psbench",
		"confused":                     "the agent of confused (rank 1) says that it is rank 2",
		"other":                        "rank 1 on other has another psbench than rank 0 on core",
		"good,again":                   "again (rank 2) and good both are good",
		"core":                         "core (rank 1) and this host both are core",
		"good,lost /nowhere/psbench's": `exit status 127): sh: 1: exec: /nowhere/psbench's: not found; a line of the hosts file can say where psbench is, as in lost psbench=/opt/psbench`,
	} {
		t.Run(hosts, func(t *testing.T) {
			timeout := patience
			if strings.Contains(hosts, "silent") {
				timeout = time.Second
			}
			_, sessions, _, err := meet(t.Context(), t, timeout, strings.Split(hosts, ",")...)
			if err == nil || !strings.Contains(err.Error(), want) || sessions != nil {
				t.Errorf("%s: %v, want %s", hosts, err, want)
			}
		})
	}
}

// Meet fails if ssh is missing. An interrupt also ends a meeting.
func TestMeetingThatCannotBe(t *testing.T) {
	path := os.Getenv("PATH")
	t.Setenv("PATH", t.TempDir())
	for command, want := range map[string]string{
		"":               "ssh cannot be started: executable file not found in $PATH; PSBENCH_SSH can name another program",
		" ":              `PSBENCH_SSH is " " but must be a command, as in ssh -F cluster.conf: leave it out for ssh`,
		"nossh -F x":     `PSBENCH_SSH is "nossh -F x", but nossh cannot be started: executable file not found in $PATH`,
		"/nowhere/ssh":   `PSBENCH_SSH is "/nowhere/ssh", but /nowhere/ssh cannot be started: no such file or directory`,
		"/proc/self/cwd": `PSBENCH_SSH is "/proc/self/cwd", but /proc/self/cwd cannot be started: permission denied`,
	} {
		t.Run(command, func(t *testing.T) {
			o := Options{Command: command, Program: "/bin/psbench", Timeout: patience}
			if _, _, err := Meet(t.Context(), rollcall.Task{}, []launchers.Host{{Name: "a"}}, o); err == nil ||
				err.Error() != want {
				t.Errorf("%q: %v, want %s", command, err, want)
			}
		})
	}
	t.Setenv("PATH", path)
	cause := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(100*time.Millisecond, func() { cancel(cause) })
	if _, _, _, err := meet(ctx, t, patience, "silent"); !errors.Is(err, cause) {
		t.Error(err)
	}
}

// Accept accepts only lines that a core would write.
func TestAccept(t *testing.T) {
	const good = `{"secret":"c2VjcmV0","rank":1,"size":2,"timeout_s":4,"registry":["/a.json"],"variables":["GOGC=off"],"of_a_later_version":1}`
	i, gone, err := Accept(t.Context(), strings.NewReader(good+"\nmore"))
	want := Invitation{Secret: []byte("secret"), Rank: 1, Size: 2, TimeoutS: 4, Registry: []string{"/a.json"},
		Variables: []string{"GOGC=off"}}
	if diff := cmp.Diff(want, i); diff != "" || err != nil {
		t.Error(diff, err)
	}
	<-gone
	for text, want := range map[string]string{
		"":        "standard input has ended before the line that psbench run --hosts writes there",
		good:      "standard input has ended before",
		"hello\n": "does not have the line that psbench run --hosts writes",
		strings.Repeat(" ", longestLine) + good + "\n": "standard input has ended before",
		strings.Replace(good, `"rank":1`, `"rank":2`,
			1) + "\n": "impossible values: rank 2 of 2, a timeout of 4 s, a secret of 6 bytes",
		strings.Replace(good, "GOGC=off", "LD_PRELOAD=x",
			1) + "\n": `the variable "LD_PRELOAD" is not one that a core passes on`,
	} {
		t.Run(fmt.Sprintf("%.60s", text), func(t *testing.T) {
			if _, _, err := Accept(t.Context(), strings.NewReader(text)); err == nil ||
				!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "c2VjcmV0") {
				t.Errorf("%.40q: %v, want %s", text, err, want)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	open, end := io.Pipe()
	if _, gone, err = Accept(ctx, open); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	_ = end.Close()
	<-gone
}

func FuzzInvitation(f *testing.F) {
	f.Add(`{"secret":"c2VjcmV0","rank":1,"size":2,"timeout_s":4}`)
	f.Fuzz(func(t *testing.T, line string) {
		if i, err := decode(line); err == nil && (i.Rank < 1 || i.Rank >= i.Size || len(i.Secret) == 0) {
			t.Errorf("%q is taken as %+v", line, i)
		}
	})
}

// The output of ssh may arrive in pieces of any length.
func TestOutputOfSSH(t *testing.T) {
	const out = "Welcome\npsbench agent\n\npsbench agent: abc\npsbench agent: def\n"
	const errs = "Warning: a\npsbench: the reason\n \n"
	for size := 1; size < len(out); size++ {
		a, l := &answer{lines: make(chan string, 1)}, &lastLine{}
		for text := out; text != ""; text = text[min(size, len(text)):] {
			_, _ = a.Write([]byte(text[:min(size, len(text))]))
		}
		for text := errs; text != ""; text = text[min(size, len(text)):] {
			_, _ = l.Write([]byte(text[:min(size, len(text))]))
		}
		if line := <-a.lines; line != "abc" || l.String() != "the reason" {
			t.Errorf("in pieces of %d bytes: %q, %q", size, line, l)
		}
	}
	l := &lastLine{}
	_, _ = l.Write(bytes.Repeat([]byte("x"), 1<<20))
	if len(l.String()) != longestWord {
		t.Errorf("%d bytes are kept", len(l.String()))
	}
}

func TestCarried(t *testing.T) {
	got := Carried([]string{"HOME=/root", "OMP_NUM_THREADS=2", "PSBENCH_SIMD=avx2", "PSBENCH_SECRET=x", "LD_PRELOAD=y",
		"GOGC=off"})
	if diff := cmp.Diff([]string{"OMP_NUM_THREADS=2", "PSBENCH_SIMD=avx2", "GOGC=off"}, got); diff != "" {
		t.Error(diff)
	}
}
