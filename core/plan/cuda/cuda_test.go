package cuda

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/psbench/psbench/core/host/devices"
	"github.com/psbench/psbench/core/plan/registry"
)

// testAnswer is an environment variable. testAnswer says what the test's fake process that asks the driver prints or
// does.
const testAnswer = "TEST_ANSWER"

func TestMain(m *testing.M) {
	if len(os.Args) < 2 || os.Args[1] != devices.Argument {
		os.Exit(m.Run())
	}
	switch answer := os.Getenv(testAnswer); answer {
	case "crash":
		os.Exit(1)
	case "hang":
		time.Sleep(time.Hour)
	default:
		fmt.Println(answer)
	}
}

const twoCards = `{"list": {"driver": 12040, "mps": {"used": false, "known": "so"}, "devices": [
	{"ordinal": 0, "name": "A", "memory_mib": 1024, "compute_capability": "9.0", "uuid": "GPU-a", "compute_mode": "default", "peers": [1]},
	{"ordinal": 1, "name": "B", "memory_mib": 2048, "compute_capability": "7.5", "uuid": "", "compute_mode": "exclusive", "peers": []}]}}`

// An interrupt of psbench does not wait for the driver.
func TestProbeEndsWithItsContext(t *testing.T) {
	t.Setenv(testAnswer, "hang")
	told := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(50*time.Millisecond, func() { cancel(told) })
	var f Finder
	if _, err := f.Devices(ctx, 0); !errors.Is(err, told) {
		t.Errorf("got %v", err)
	}
	t.Setenv(testAnswer, twoCards) // after an interrupt, the driver is asked again
	if list, err := f.Devices(t.Context(), 0); err != nil || len(list.Devices) != 2 {
		t.Errorf("got %v, %v", list, err)
	}
	t.Setenv(testAnswer, "crash")
	if list, err := f.Devices(t.Context(), 0); err != nil || len(list.Devices) != 2 {
		t.Errorf("asked twice: %v, %v", list, err)
	}
	if list, err := f.Devices(t.Context(), 2); err == nil || list != nil {
		t.Errorf("for more ranks it is not asked again: %v, %v", list, err)
	}
}

func TestPlugin(t *testing.T) {
	const build = "devel, commit abc, go1, linux/amd64"
	folder := t.TempDir()
	script := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct{ name, text, want string }{
		{"same", `test "$1" = version && echo noise && echo "psbench-cuda ` + build + `"`, ""},
		{"other", `echo "psbench-cuda devel, commit def, go1, linux/amd64"`,
			" is from another build than this psbench: it is devel, commit def, go1, linux/amd64, and this is " + build +
				": build both from one source, with make build cuda"},
		{"stranger", "echo hello", ` is no psbench-cuda: asked for its version it says "hello"`},
		{"broken", "echo no libcuda >&2; exit 127",
			`, asked for its version, ended with exit status 127, saying "no libcuda"`},
	} {
		path := script(c.name, c.text, 0o700)
		file := filepath.Join(folder, c.name+".json")
		if err := os.WriteFile(file, fmt.Appendf(nil, `{"plugins": {"cuda": {"command": [%q]}}}`, path),
			0o600); err != nil {
			t.Fatal(err)
		}
		reg, err := registry.Load([]byte("{}"), "", file)
		if err != nil {
			t.Fatal(err)
		}
		var f Finder
		p, err := f.Plugin(t.Context(), reg, build)
		if c.want == "" {
			if err != nil || p.Command[0] != path || !p.Has(registry.Builtin) {
				t.Errorf("%s: got %v, %v", c.name, p, err)
			}
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			if _, err := f.Plugin(t.Context(), reg, build); err != nil {
				t.Errorf("asked twice: %v", err)
			}
		} else if err == nil || err.Error() != path+c.want {
			t.Errorf("%s: got  %v\nwant %s", c.name, err, path+c.want)
		}
	}
}

// If CUDA ranks may run on other hosts, the core's host needs no device. Without a device the program cannot start, so
// it is not started.
func TestDevicesElsewhere(t *testing.T) {
	folder := t.TempDir()
	program, file := filepath.Join(folder, Program), filepath.Join(folder, "cuda.json")
	if err := errors.Join(
		os.WriteFile(program, []byte("#!/bin/sh\necho no driver >&2; exit 1\n"), 0o700),
		os.WriteFile(file, fmt.Appendf(nil, `{"plugins": {"cuda": {"command": [%q]}}}`, program), 0o600)); err != nil {
		t.Fatal(err)
	}
	reg, err := registry.Load([]byte("{}"), "", file)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, answer string
		apart        bool
		devices      int
		refusal      string
	}{
		{"it has none", `{"error": "there is no CUDA driver"}`, false, 0, ""},
		{"it has two", twoCards, false, 2,
			program + `, asked for its version, ended with exit status 1, saying "no driver"`},
		{"it is apart", twoCards, true, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv(testAnswer, c.answer)
			f := Elsewhere{&Finder{}, c.apart}
			list, err := f.Devices(t.Context(), 0)
			if err != nil || len(list.Devices) != c.devices {
				t.Errorf("%s: got %v, %v", c.name, list, err)
			}
			refusal := ""
			p, err := f.Plugin(t.Context(), reg, "a build")
			if err != nil {
				refusal = err.Error()
			}
			if refusal != c.refusal || p.Name != PluginName || p.Command[0] != program {
				t.Errorf("%s: got %v and %q, want %q", c.name, p, refusal, c.refusal)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if list, err := (Elsewhere{Finder: &Finder{}}).Devices(ctx, 0); err == nil {
		t.Errorf("who is interrupted finds %v", list)
	}
}

func TestProgramBeside(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, Program)
	expect := func(want string) {
		t.Helper()
		got, err := beside(filepath.Join(folder, "psbench"))
		if got != path || fmt.Sprint(err) != want {
			t.Errorf("got %s, %v\nwant %s", got, err, want)
		}
	}
	expect(fmt.Sprintf("there is no psbench-cuda beside psbench (looked for %s): build it with make cuda", path))
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	expect(path + " is not executable: chmod +x makes it a program")
	if err := os.Chmod(path, 0o700); err != nil {
		t.Fatal(err)
	}
	expect("<nil>")
	// The program is never searched in PATH.
	t.Setenv("PATH", folder)
	empty := t.TempDir()
	if _, err := beside(filepath.Join(empty, "psbench")); err == nil {
		t.Error("it was found elsewhere")
	}
}
