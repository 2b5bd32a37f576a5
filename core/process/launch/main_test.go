package launch

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/internal/comm/wire"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/proto"
)

// asCore makes the test binary act as a core that starts processes until it is killed. withSettings also makes the core
// configure one of them with these settings.
const (
	asCore       = "PSBENCH_TEST_CORE"
	withSettings = "PSBENCH_TEST_SETTINGS"
)

// The test binary is also the plugin, because the launcher starts /proc/self/exe.
func TestMain(m *testing.M) {
	if Child(parts) {
		return
	}
	if os.Getenv(asCore) != "" {
		beCore()
	}
	goleak.VerifyTestMain(m)
}

// parts returns the plugin's parts. If the process is named "plugin twice", one key is declared twice.
func parts() []sdk.Part {
	out := []sdk.Part{sdk.NewData("actor", script{}, newActor)}
	if os.Args[2] == "plugin twice" {
		out = append(out, sdk.InTrainer(sdk.KindHookState, "actor"), out[0])
	}
	return out
}

// beCore runs until it is killed.
func beCore() {
	fmt.Println("ready")
	l, err := New(patience, Output{})
	if err != nil {
		panic(err)
	}
	if settings := os.Getenv(withSettings); settings != "" {
		p, err := l.Start(context.Background(), Spec{Name: "data"})
		if err != nil {
			panic(err)
		}
		_ = act(l, p, settings)
	}
	for i := range 4 {
		go func() { _, _ = l.Start(context.Background(), Spec{Name: fmt.Sprintf("data%d", i)}) }()
	}
	// This program never ends on its own.
	deaf := registry.Plugin{Name: "deaf", Command: []string{"sleep", "1000"}}
	go func() { _, _ = l.Start(context.Background(), Spec{Name: "deaf", Plugin: deaf}) }()
	select {}
}

// actor is a part that carries out its settings when it is configured.
type actor struct{ script }

type script struct {
	Spawn string `json:"spawn"` // shell command
	Say   string `json:"say"`
	Panic string `json:"panic"`
	Exit  int    `json:"exit"`
}

func newActor(s script, _ sdk.DataEnv) (sdk.Data, error) { return actor{s}, nil }

func (a actor) Load() (*sdk.Samples, error) {
	fmt.Fprint(os.Stderr, a.Say)
	if a.Spawn != "" {
		if err := exec.Command("sh", "-c", a.Spawn).Run(); err != nil {
			return nil, err
		}
	}
	if a.Panic != "" {
		panic(a.Panic)
	}
	if a.Exit != 0 {
		os.Exit(a.Exit)
	}
	return &sdk.Samples{}, nil
}

// act configures a process, which then carries out its settings.
func act(l *Launcher, p *Process, settings string) error {
	_, err := p.Configure(context.Background(), &proto.ConfigureRequest{
		Name: p.Name, Directory: l.Directory(), Secret: make([]byte, wire.SecretSize), Transport: wire.Unix.Name(),
		Part: &proto.PartChoice{Kind: string(sdk.KindData), Key: "actor", Settings: []byte(settings)},
		Role: &proto.ConfigureRequest_Data{Data: &proto.DataRole{}},
	})
	return err
}

// patience is how long a test waits for an expected event.
const patience = 20 * time.Second

func launcher(t *testing.T) *Launcher {
	t.Helper()
	l, err := New(patience, Output{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(false); err != nil {
			t.Error(err)
		}
		requireGone(t, l.Directory())
	})
	return l
}

func started(t *testing.T, l *Launcher, name string) *Process {
	t.Helper()
	p, err := l.Start(t.Context(), Spec{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// program returns a plugin whose program is a shell script with this text.
func program(t *testing.T, text string) registry.Plugin {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return registry.Plugin{Name: "foreign", Command: []string{path}}
}

// stopsAfterItsHandshake returns a plugin that prints a handshake but never answers calls.
func stopsAfterItsHandshake(t *testing.T) registry.Plugin {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return program(t, "sh -c 'echo $$; exec "+exe+" "+BuiltinArgument+
		" trainer0' | { read pid; read line; kill -STOP $pid; until grep -q T..stopped /proc/$pid/status; do :; done; echo \"$line\"; exec sleep 1000; }")
}

func awaitExit(t *testing.T, p *Process) {
	t.Helper()
	select {
	case <-p.Exited():
	case <-time.After(patience):
		t.Fatalf("%s has not ended", p.Name)
	}
}

// holders lists the processes whose environment contains text. All processes that a launcher starts have its folder's
// path in their environment.
func holders(text string) []string {
	var found []string
	paths, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range paths {
		env, err := os.ReadFile(path)
		if err == nil && bytes.Contains(env, []byte(text)) {
			found = append(found, path)
		}
	}
	return found
}

// requireGone requires that the folder is gone, and that no process has its path in the environment.
func requireGone(t *testing.T, directory string) {
	t.Helper()
	if left := holders(directory); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
	if _, err := os.Stat(directory); !os.IsNotExist(err) {
		t.Errorf("the folder %s is left: %v", directory, err)
	}
}

// shortBase returns a temporary folder whose path is short enough for the paths of sockets.
func shortBase(t *testing.T) string {
	t.Helper()
	base, err := os.MkdirTemp("", "base")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	return base
}

// startCore starts the test binary as a core with base as its temporary folder. startCore returns when the core's main
// function runs.
func startCore(t *testing.T, base string, env ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(append(os.Environ(), asCore+"=1", "TMPDIR="+base), env...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	return cmd
}
