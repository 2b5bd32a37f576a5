package devices

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// testAnswer is an environment variable. testAnswer makes the process that asks the driver print or do something else.
const testAnswer = "TEST_ANSWER"

func TestMain(m *testing.M) {
	if len(os.Args) < 2 || os.Args[1] != Argument {
		os.Exit(m.Run())
	}
	switch answer := os.Getenv(testAnswer); answer {
	case "":
		os.Exit(Child())
	case "crash":
		fmt.Fprintln(os.Stderr, "the driver fell over\nat some address")
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "hang":
	case "flood":
		for {
			if _, err := os.Stdout.WriteString(strings.Repeat("x", 1<<16)); err != nil {
				os.Exit(1)
			}
		}
	default:
		fmt.Println(answer)
		os.Exit(0)
	}
	time.Sleep(time.Hour)
}

const twoCards = `{"list": {"driver": 12040, "mps": {"used": false, "known": "so"}, "devices": [
	{"ordinal": 0, "name": "A", "memory_mib": 1024, "compute_capability": "9.0", "uuid": "GPU-a", "compute_mode": "default", "peers": [1]},
	{"ordinal": 1, "name": "B", "memory_mib": 2048, "compute_capability": "7.5", "uuid": "", "compute_mode": "exclusive", "peers": []}]}}`

func TestProbe(t *testing.T) {
	const asks = "the process that asks the CUDA driver for its devices "
	for _, c := range []struct{ name, answer, want string }{
		{"two cards", twoCards, ""},
		{"an error", `{"error": "there is no CUDA driver"}`, "there is no CUDA driver"},
		{"a crash", "crash",
			asks + `ended with signal: killed, saying "the driver fell over": check the driver, for example with nvidia-smi`},
		{"silence", "hang", asks + "did not answer within 300ms: check the driver, for example with nvidia-smi"},
		{"no end of words", "flood", asks + "did not answer within 300ms: check the driver, for example with nvidia-smi"},
		{"words", "hello\x1b", asks + `printed "hello\x1b", which is not a list of devices: look for messages from the driver`},
		{"nothing", "{}", asks + `printed "{}", which is not a list of devices: look for messages from the driver`},
		{"no device", `{"list": {"driver": 1, "mps": {"used": false, "known": ""}, "devices": []}}`,
			asks +
				`printed "{\"list\": {\"driver\": 1, \"mps\": {\"used\": false, \"known\": \"\"}, \"devices\": []}}", which is not a list of devices: look for messages from the driver`},
		{"a peer that is none", strings.Replace(twoCards, "[1]", "[2]", 1), ""},
		{"another ordinal", strings.Replace(twoCards, `"ordinal": 1`, `"ordinal": 2`, 1), ""},
		{"more than is known", strings.Replace(twoCards, `"driver"`, `"drivers"`, 1), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv(testAnswer, c.answer)
			patience := 30 * time.Second
			if c.answer == "hang" || c.answer == "flood" {
				patience = 300 * time.Millisecond
			}
			list, err := probe(t.Context(), patience, 0)
			switch {
			case c.name == "two cards":
				if err != nil || len(list.Devices) != 2 || list.Devices[1].Mode != Exclusive ||
					list.Devices[0].Peers[0] != 1 {
					t.Errorf("got %v and the error %v", list, err)
				}
			case err == nil:
				t.Errorf("got %v", list)
			case c.want == "":
				if !strings.Contains(err.Error(), "which is not a list of devices") {
					t.Errorf("got %v", err)
				}
			case err.Error() != c.want:
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

// If the driver library cannot be loaded, the error contains the loader's reason.
func TestDriversThatAreNone(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("LD_LIBRARY_PATH", folder)
	library := filepath.Join(folder, "libcuda.so.1")
	if err := os.WriteFile(library, []byte("no library"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := probe(t.Context(), 30*time.Second, 0)
	want :=
		regexp.MustCompile(`^there is no CUDA driver: libcuda\.so\.1 cannot be loaded \(.+\): install NVIDIA's driver, or name its folder in LD_LIBRARY_PATH$`)
	if err == nil || !want.MatchString(err.Error()) && !strings.Contains(err.Error(), "nodlopen") {
		t.Errorf("got %v", err)
	}
	others, _ := filepath.Glob("/lib/*-linux-gnu/libm.so.6")
	if others == nil {
		t.Skip("there is no other library to take for a driver")
	}
	if err := errors.Join(os.Remove(library), os.Symlink(others[0], library)); err != nil {
		t.Fatal(err)
	}
	_, err = probe(t.Context(), 30*time.Second, 0)
	want =
		regexp.MustCompile(`^libcuda\.so\.1 has no cuInit, so it is not a CUDA driver, or it is older than CUDA 9\.2: psbench needs CUDA 11\.0 or newer$`)
	if err == nil || !want.MatchString(err.Error()) && !strings.Contains(err.Error(), "nodlopen") {
		t.Errorf("got %v", err)
	}
}

// Only devices that ranks use must be suitable. With MPS, several processes can share an exclusive device.
func TestUnfitDevicesThatNobodyUses(t *testing.T) {
	l := &List{Driver: LeastDriver, Devices: []Device{
		{Ordinal: 0, Capability: "10.0", Mode: Exclusive}, {Ordinal: 1, Capability: "5.2", Mode: Prohibited},
	}}
	if err := l.Check(1); err != nil {
		t.Error(err)
	}
	if err := l.Check(2); err == nil {
		t.Error("a prohibited device got a rank")
	}
	l.Devices = l.Devices[:1]
	if err := l.Check(2); err == nil {
		t.Error("an exclusive device is shared")
	}
	l.MPS.Used = true
	if err := l.Check(2); err != nil {
		t.Error(err)
	}
}

func TestMPS(t *testing.T) {
	folder := t.TempDir()
	t.Setenv(pipeVariable, folder)
	control := filepath.Join(folder, "control")
	see := func(used bool, known string) {
		t.Helper()
		if d := cmp.Diff(MPS{used, known}, lookForMPS()); d != "" {
			t.Error(d)
		}
	}
	see(false, "no MPS control daemon has its pipe in "+folder)
	listener, err := net.Listen("unix", control)
	if err != nil {
		t.Fatal(err)
	}
	see(true, "an MPS control daemon answers at "+control)
	listener.(*net.UnixListener).SetUnlinkOnClose(false)
	_ = listener.Close()
	see(false, control+" exists, but no MPS control daemon answers there")
	if err := errors.Join(os.Remove(control), unix.Mkfifo(control, 0o600)); err != nil {
		t.Fatal(err)
	}
	see(false, control+" exists, but no MPS control daemon answers there")
	reader, err := os.OpenFile(control, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reader.Close() }()
	see(true, "an MPS control daemon answers at "+control)
}
