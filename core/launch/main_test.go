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

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/core/registry"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/proto"
)

// asCore makes the test binary be a core that starts processes until it is
// killed.
const asCore = "PSBENCH_TEST_CORE"

// The test binary is its own plugin: the launcher starts /proc/self/exe.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == BuiltinArgument {
		parts := []sdk.Part{sdk.NewData("actor", script{}, newActor)}
		if os.Args[2] == "plugin twice" {
			parts = append(parts, sdk.InTrainer(sdk.KindHookState, "actor"), parts[0])
		}
		sdk.Serve(parts...)
		os.Exit(0)
	}
	if os.Getenv(asCore) != "" {
		beCore()
	}
	goleak.VerifyTestMain(m)
}

// beCore never comes back: it is there to be killed.
func beCore() {
	fmt.Println("ready")
	l, err := New()
	if err != nil {
		panic(err)
	}
	for i := range 4 {
		go func() { _, _ = l.Start(context.Background(), Spec{Name: fmt.Sprintf("data%d", i)}) }()
	}
	// A program that does not listen to the guard pipe.
	deaf := registry.Plugin{Name: "deaf", Command: []string{"sleep", "1000"}}
	go func() { _, _ = l.Start(context.Background(), Spec{Name: "deaf", Plugin: deaf}) }()
	select {}
}

// actor is a part that does what its settings say once it is configured.
type actor struct{ script }

type script struct {
	Say   string `json:"say"`
	Panic string `json:"panic"`
	Exit  int    `json:"exit"`
}

func newActor(s script, _ sdk.DataEnv) (sdk.Data, error) { return actor{s}, nil }

func (a actor) Load() (*sdk.Samples, error) {
	fmt.Fprint(os.Stderr, a.Say)
	if a.Panic != "" {
		panic(a.Panic)
	}
	if a.Exit != 0 {
		os.Exit(a.Exit)
	}
	return &sdk.Samples{}, nil
}

// act has the process do what its settings say.
func act(l *Launcher, p *Process, settings string) error {
	_, err := p.Configure(context.Background(), &proto.ConfigureRequest{
		Name: p.Name, Directory: l.Directory(), Secret: make([]byte, comm.SecretSize), Transport: string(comm.Unix),
		Part: &proto.PartChoice{Kind: string(sdk.KindData), Key: "actor", Settings: []byte(settings)},
	})
	return err
}

// patience is how long a test waits for what must happen.
const patience = 20 * time.Second

func launcher(t *testing.T) *Launcher {
	t.Helper()
	l, err := New()
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

// program is a plugin that is a shell script.
func program(t *testing.T, text string) registry.Plugin {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return registry.Plugin{Name: "foreign", Command: []string{path}}
}

func awaitExit(t *testing.T, p *Process) {
	t.Helper()
	select {
	case <-p.Exited():
	case <-time.After(patience):
		t.Fatalf("%s has not ended", p.Name)
	}
}

// holders are the processes whose environment holds text: all that a launcher
// started hold its folder's path.
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

// requireGone requires that the folder and all processes that know of it are gone.
func requireGone(t *testing.T, directory string) {
	t.Helper()
	if left := holders(directory); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
	if _, err := os.Stat(directory); !os.IsNotExist(err) {
		t.Errorf("the folder %s is left: %v", directory, err)
	}
}

// startCore starts the test binary as a core whose temporary folder is base,
// and returns when its main function runs.
func startCore(t *testing.T, base string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), asCore+"=1", "TMPDIR="+base)
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
