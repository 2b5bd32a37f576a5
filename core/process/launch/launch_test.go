package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/internal/host"
	"github.com/psbench/psbench/sdk/proto"
)

func TestStartDescribesItself(t *testing.T) {
	l := launcher(t)
	p := started(t, l, "trainer0")
	reply, err := p.Describe(t.Context(), &proto.DescribeRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if parts := reply.GetParts(); len(parts) != 1 || parts[0].GetKey() != "actor" || len(parts[0].GetSettings()) != 4 {
		t.Errorf("the plugin provides %v", parts)
	}
	if p.PID() == 0 || p.StartTook() <= 0 {
		t.Errorf("process %d took %v to start", p.PID(), p.StartTook())
	}
}

func TestDescribeRefusesAPartDeclaredTwice(t *testing.T) {
	want := `plugin twice declares data "actor" twice: a plugin has one part of each kind and key`
	if _, err := Describe(t.Context(), registry.Plugin{Name: "twice"}); err == nil || err.Error() != want {
		t.Errorf("it gave %v, want %s", err, want)
	}
	if said, err := Describe(t.Context(), registry.Plugin{Name: "once"}); err != nil || len(said.Parts) != 1 ||
		said.Contract != host.Contract.String() {
		t.Errorf("a plugin with one part gave %v and %v", said, err)
	}
}

func TestDeath(t *testing.T) {
	for name, c := range map[string]struct {
		settings string
		signal   syscall.Signal
		want     string // expected text after the name and the process ID
	}{
		"killed": {signal: syscall.SIGKILL,
			want: "was killed by signal 9 during warm-up (possibly out of memory)"},
		"signalled": {signal: syscall.SIGTERM, want: "was killed by signal 15 (terminated) during warm-up"},
		"exit":      {settings: `{"exit": 3}`, want: "ended with exit status 3 during warm-up"},
		"last words": {settings: `{"say": "one\ntwo\n", "exit": 1}`,
			want: "ended with exit status 1 during warm-up; its last words: one | two"},
		"only the end": {settings: `{"say": "1\n2\n3\n4\n5\n6\n7\n", "exit": 1}`,
			want: "ended with exit status 1 during warm-up; its last words: 3 | 4 | 5 | 6 | 7"},
		"panic": {settings: `{"say": "before\n", "panic": "out of range"}`,
			want: "ended with exit status 2 during warm-up; its last words: panic: out of range"},
		"long last line": {settings: `{"say": "` + strings.Repeat("x", 5000) + `", "exit": 1}`,
			want: "ended with exit status 1 during warm-up; its last words: " + strings.Repeat("x", tailBytes)},
	} {
		t.Run(name, func(t *testing.T) {
			l := launcher(t)
			p := started(t, l, "trainer0")
			if c.signal != 0 {
				_ = syscall.Kill(p.PID(), c.signal)
			} else if err := act(l, p, c.settings); err == nil {
				t.Error("the call of a process that ends has no error")
			}
			awaitExit(t, p)
			_, got, _ := strings.Cut(p.Death("warm-up").Error(), ") ")
			got, where, _ := strings.Cut(got, ", in ")
			if name == "panic" && !strings.HasPrefix(where, "launch.actor.Load (main_test.go:") {
				t.Errorf("the panic was in %q", where)
			}
			if got != c.want {
				t.Errorf("the death says %q, want %q", got, c.want)
			}
		})
	}
}

func TestCloseEndsStoppedProcesses(t *testing.T) {
	for _, gently := range []bool{false, true} {
		t.Run(fmt.Sprint(gently), func(t *testing.T) {
			l := launcher(t)
			p := started(t, l, "trainer0")
			started(t, l, "server1")
			if err := syscall.Kill(p.PID(), syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			// go-plugin would wait 2 s for the answer to its request. go-plugin would wait forever for the request to
			// be sent.
			begun := time.Now()
			if err := l.Close(gently); err != nil {
				t.Error(err)
			}
			if took := time.Since(begun); took > stopTimeout+time.Second {
				t.Errorf("closing (gently: %v) took %v", gently, took)
			}
			requireGone(t, l.Directory())
		})
	}
}

func TestCloseGentlyLetsProcessesEndThemselves(t *testing.T) {
	t.Setenv("GORACE", "atexit_sleep_ms=0") // a race build would sleep for a second when it ends
	l := launcher(t)
	p := started(t, l, "trainer0")
	if err := l.Close(true); err != nil {
		t.Fatal(err)
	}
	if p.child.ended == nil || p.child.ended.Status != 0 {
		t.Errorf("a process that was asked to end %s", p.child.status("its end"))
	}
	if _, err := l.Start(t.Context(), Spec{Name: "late"}); err == nil ||
		!strings.Contains(err.Error(), "the run is over") {
		t.Errorf("a start after Close gave %v", err)
	}
}

// Close is called while processes start. Neither may wait for the other, and no process may remain.
func TestCloseDuringStarts(t *testing.T) {
	for range 5 {
		l := launcher(t)
		const starts = 6
		ended := make(chan error, starts)
		for range starts {
			go func() {
				_, err := l.Start(t.Context(), Spec{Name: "trainer0"})
				ended <- err
			}()
		}
		if err := l.Close(false); err != nil {
			t.Error(err)
		}
		for range starts {
			<-ended //nolint:errcheck // nil for those that were up before the end began
		}
		requireGone(t, l.Directory())
	}
}

func TestStartEndsWithItsContext(t *testing.T) {
	l := launcher(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the user has had enough")
	sleeper := program(t, "exec sleep 1000")
	ended := make(chan error, 1)
	go func() {
		_, err := l.Start(ctx, Spec{Name: "trainer0", Plugin: sleeper})
		ended <- err
	}()
	for len(holders("PSBENCH_PLUGIN_DIR="+l.Directory())) == 0 {
		time.Sleep(time.Millisecond) // until the program runs
	}
	cancel(why)
	if err := <-ended; !errors.Is(err, why) {
		t.Errorf("a cancelled start gave %v", err)
	}
}

// If Start succeeds, its process keeps running, even if the context ends at the same moment.
func TestStartThatWentWellIsNotUndone(t *testing.T) {
	l := launcher(t)
	p, err := l.Start(t.Context(), Spec{Name: "trainer0"})
	if err != nil {
		t.Fatal(err)
	}
	for took, i := p.StartTook(), 0; i < 40; i++ {
		ctx, cancel := context.WithTimeout(t.Context(), took*time.Duration(70+i)/100)
		p, err := l.Start(ctx, Spec{Name: "trainer1"})
		<-ctx.Done()
		cancel()
		if err != nil {
			continue
		}
		took = min(took, p.StartTook()) // shorter timeouts would make every start fail
		select {
		case <-p.Exited():
			t.Fatalf("a process that was started %s", p.child.status("its start"))
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func TestStartRefuses(t *testing.T) {
	wrong := program(t, "exit 0")
	wrong.SHA256 = strings.Repeat("ab", 32)
	noNumber := wrong
	noNumber.SHA256 = "xyz"
	short := wrong
	short.SHA256 = "abab"
	for name, c := range map[string]struct {
		plugin registry.Plugin
		want   string
	}{
		"ends at once": {program(t, "exit 0"),
			"trainer0 did not start: it is not a psbench plugin: it ended without a handshake"},
		"fails at once": {program(t, "echo no such library >&2; exit 7"),
			"ended with exit status 7 during its start; its last words: no such library"},
		"says nonsense": {program(t, "echo oops >&2; echo garbage; exec sleep 1000"),
			"the core waited 0.3 s for its start from trainer0; its last words: "},
		"ends in the line": {program(t, "printf model >&2; printf garbage; exit 0"),
			"trainer0 did not start: it is not a psbench plugin: it ended without a handshake; its last words: "},
		"hangs":          {program(t, "exec sleep 1000"), "the core waited 0.3 s for its start from trainer0"},
		"stops at birth": {program(t, "kill -STOP $$"), "the core waited 0.3 s for its start from trainer0"},
		"stops later":    {stopsAfterItsHandshake(t), "the core waited 0.3 s for its start from trainer0"},
		"ends its output": {program(t, "exec >&-; exec sleep 1000"),
			"trainer0 did not start: it is not a psbench plugin: it ended its output without a handshake"},
		"kills itself": {program(t, "kill -9 $$"),
			"was killed by signal 9 during its start (possibly out of memory)"},
		"missing": {registry.Plugin{Name: "foreign", Command: []string{"/no/such/program"}},
			"plugin foreign cannot be started: "},
		"wrong sum": {wrong, "program does not have the sha256 abab"},
		"no sum":    {noNumber, `plugin foreign: sha256 "xyz" is not a hexadecimal number of 64 digits`},
		"short sum": {short, `plugin foreign: sha256 "abab" is not a hexadecimal number of 64 digits`},
	} {
		t.Run(name, func(t *testing.T) {
			l := launcher(t)
			l.timeout = 300 * time.Millisecond
			_, err := l.Start(t.Context(), Spec{Name: "trainer0", Plugin: c.plugin})
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("the start gave %v, want %q on one line", err, c.want)
			}
		})
	}
}

// Failed starts must not leak file descriptors of the core.
func TestFailedStartsLeakNoDescriptors(t *testing.T) {
	l := launcher(t)
	fail := func() {
		pl := program(t, "")
		if err := os.WriteFile(pl.Command[0], []byte("no program at all"), 0o755); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Start(t.Context(), Spec{Name: "trainer0", Plugin: pl}); err == nil ||
			!strings.Contains(err.Error(), "trainer0 cannot be started") {
			t.Fatalf("a file that is no program gave %v", err)
		}
	}
	fail()
	before := descriptors(t)
	for range 10 {
		fail()
	}
	if after := descriptors(t); after > before {
		t.Errorf("%d descriptors are open, %d before", after, before)
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(open)
}

// If the core is killed at any moment, its processes and its folder disappear too.
func TestNothingOutlivesTheCore(t *testing.T) {
	for i := range 20 {
		base, err := os.MkdirTemp("", "core")
		if err != nil {
			t.Fatal(err)
		}
		core := startCore(t, base)
		time.Sleep(time.Duration(i) * 3 * time.Millisecond) // each iteration kills the core at another moment
		if err := core.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = core.Wait()
		requireEmptied(t, base, time.Duration(i)*3*time.Millisecond)
		if err := os.Remove(base); err != nil {
			t.Error(err)
		}
	}
}

// requireEmptied waits until base is empty and no process mentions it in its environment.
func requireEmptied(t *testing.T, base string, after time.Duration) {
	t.Helper()
	var left []string
	var files []os.DirEntry
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		left = holders(base)
		files, _ = os.ReadDir(base)
		if len(left) == 0 && len(files) == 0 {
			return
		}
	}
	t.Fatalf("a core killed after %v leaves processes %v and files %v", after, left, files)
}
