package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	validator "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/psbench/psbench/core/plan/cuda"
	"github.com/psbench/psbench/core/process/launch"
	"github.com/psbench/psbench/internal/golden"
	"github.com/psbench/psbench/plugins"
	"github.com/psbench/psbench/plugins/models/blas"
)

// TestMain makes the test executable act as psbench if it has that name, as in scripts. The executable acts as a
// plugin if a test starts it as a plugin process. So all tests run plugin processes of the same build as the test,
// including race builds under -race.
func TestMain(m *testing.M) {
	extendFabrics()
	moveClock()
	killAtPoint()
	if saidDevices() || servedOnTestEngine() || launch.Child(plugins.Builtin) {
		return
	}
	if len(os.Args) > 1 && os.Args[1] == testPluginArgument {
		serveTestPlugin()
		return
	}
	if len(os.Args) > 1 && os.Args[1] == latePluginArgument {
		serveLatePlugin()
		return
	}
	if len(os.Args) > 1 && os.Args[1] == checkPluginArgument {
		serveCheckPlugin()
		return
	}
	if len(os.Args) > 1 && os.Args[1] == agentArgument {
		serveAgent()
		return
	}
	if len(os.Args) > 1 && os.Args[1] == cudaArgument {
		serveCUDA(os.Args[2:])
		return
	}
	testscript.Main(alone{m}, map[string]func(){"psbench": main, cuda.Program: func() { serveCUDA(os.Args[1:]) }})
}

// testFolder is a folder that tests share.
var testFolder string

// alone runs the tests without the plugins that the user has registered.
type alone struct{ *testing.M }

func (a alone) Run() int {
	folder, err := os.MkdirTemp("", "psbench-test-")
	if err == nil {
		testFolder = folder
		err = os.Setenv("XDG_CONFIG_HOME", filepath.Join(folder, "config"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(folder) }()
	return a.M.Run()
}

// racing are the scripts to run with the race detector. The other scripts test texts, or repeat work that the
// reference cases and the fault tests do under the race detector.
var racing = []string{"testdata/script/comm.txtar"}

func TestScripts(t *testing.T) {
	scripts, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	if raceDetector {
		scripts = racing
	}
	testscript.Run(t, testscript.Params{
		Files: scripts, UpdateScripts: *golden.Update,
		Condition: func(name string) (bool, error) {
			switch name {
			case "openblas":
				_, err := blas.Open(blas.OpenBLAS, 1)
				return err == nil, nil
			case "mount": // can mount a private file system
				return exec.Command("unshare", "--user", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "none",
					testFolder).Run() == nil, nil
			case "uts": // can set a private host name
				return exec.Command("unshare", "--user", "--map-root-user", "--uts", "hostname",
					"another").Run() == nil, nil
			case "hostip":
				return hostIP() != "", nil
			default:
				return false, fmt.Errorf("unknown condition %q", name)
			}
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"valid": valid, "traced": traced},
		Setup: func(env *testscript.Env) error {
			schema1, err := filepath.Abs("../../core/record/result/testdata/schema1.json.gz")
			env.Setenv("SCHEMA1", schema1) // a result of an older psbench
			recorded, err2 := filepath.Abs("../../core/record/folder/testdata")
			env.Setenv("RECORDED", recorded) // results of newer versions
			if err == nil {
				err = err2
			}
			withoutHome(env)
			cuda, err3 := cudaRegistry()
			exe, err4 := os.Executable()
			env.Setenv("EXECUTABLE", exe)
			env.Setenv("HOST_IP", hostIP())
			return errors.Join(err, err3, err4, os.WriteFile(filepath.Join(env.WorkDir, "cuda.json"), cuda, 0o600))
		},
	})
}

// hostIP returns an address at which other machines reach this host, or "".
func hostIP() string {
	addresses, _ := net.InterfaceAddrs()
	for _, a := range addresses {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.IsGlobalUnicast() {
			return ip.IP.String()
		}
	}
	return ""
}

// withoutHome gives a script folders for its registry and for caches, because the script has no HOME.
func withoutHome(env *testscript.Env) {
	env.Setenv("XDG_CONFIG_HOME", filepath.Join(env.WorkDir, ".config"))
	if cache, err := os.UserCacheDir(); err == nil {
		env.Setenv("XDG_CACHE_HOME", cache)
	}
}

// valid checks that a JSON file satisfies one of psbench's schemas. For example: valid result out.json.
func valid(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: valid schema file")
	}
	schema, err := validator.NewCompiler().Compile("../../schemas/" + args[0] + ".schema.json")
	ts.Check(err)
	instance, err := validator.UnmarshalJSON(strings.NewReader(ts.ReadFile(args[1])))
	ts.Check(err)
	ts.Check(schema.Validate(instance))
}

func TestExitStatus(t *testing.T) {
	for line, want := range map[string]int{
		"version":                                0,
		"config":                                 0,
		"config --epochs 0":                      exitFailure,
		"config --set x.y=1":                     exitFailure,
		"config --trainer hybrid --ddp-hook rpc": exitFailure,
		"--trainer hybrid --nserver 3":           exitFailure,
		"config --epochz 1":                      exitUsage,
		"config --format txt":                    exitUsage,
		"lst":                                    exitUsage,
		"completion bsh":                         exitUsage,
		"list modle":                             exitUsage,
		"plugin":                                 0,
		"plugin lst":                             exitUsage,
		"plugin list mine":                       exitUsage,
		"comm gather":                            exitUsage,
		"comm --rounds x":                        exitUsage,
		"comm --repeat 0":                        exitUsage,
		"comm --nserver 0":                       exitUsage,
		"comm --server none":                     exitFailure,
	} {
		t.Run(line, func(t *testing.T) {
			a := &app{stdout: io.Discard, stderr: io.Discard}
			if got := a.run(t.Context(), strings.Fields(line)); got != want {
				t.Errorf("psbench %s exits with %d, want %d", line, got, want)
			}
		})
	}
}
