//go:build nvidia

package main

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// start runs the psbench-cuda that make cuda built, with additional environment variables.
func start(t *testing.T, argument string, environment ...string) (stdout, stderr string, status int) {
	t.Helper()
	const program = "../../bin/psbench-cuda"
	if _, err := os.Stat(program); err != nil {
		t.Fatalf("%v: make cuda builds it", err)
	}
	var out, errs strings.Builder
	command := exec.Command(program)
	if argument != "" {
		command.Args = append(command.Args, argument)
	}
	command.Env = append(os.Environ(), environment...)
	command.Stdout, command.Stderr = &out, &errs
	_ = command.Run()
	return out.String(), errs.String(), command.ProcessState.ExitCode()
}

// Before it uses psbench-cuda, psbench asks the program for its build, which must equal psbench's own. Asking for the
// build does not initialize the driver.
func TestBuildIsThatOfPsbench(t *testing.T) {
	stdout, stderr, status := start(t, "version", "PSBENCH_DOUBLE_FAIL=cuInit:*:999")
	out, err := exec.Command("../../bin/psbench", "version").Output()
	if err != nil {
		t.Fatal(err)
	}
	want := "psbench-cuda " + strings.TrimPrefix(string(out), "psbench ")
	if stdout != want || status != 0 {
		t.Errorf("status %d: %q, but psbench is %q\n%s", status, stdout, want, stderr)
	}
}

// If CUDA is unusable, psbench-cuda leaves standard output empty, because psbench would take any text for the
// plugin's address.
func TestNoDevice(t *testing.T) {
	stdout, stderr, status := start(t, "", "PSBENCH_DOUBLE_DEVICES=0", "CUDA_VISIBLE_DEVICES=")
	if stdout != "" || status != 1 ||
		!strings.HasPrefix(stderr,
			"the NVIDIA driver does not start: no CUDA-capable device is detected (CUDA_ERROR_NO_DEVICE, 100): it shows no GPU to this process") {
		t.Errorf("status %d: %q, %s", status, stdout, stderr)
	}
}

// If the driver is missing, the dynamic loader names the missing library.
func TestNoDriver(t *testing.T) {
	stdout, stderr, status := start(t, "version", "LD_LIBRARY_PATH=")
	if status == 0 {
		t.Skip("the driver is where the loader always finds it")
	}
	if stdout != "" || !strings.Contains(stderr, "libcuda.so.1") {
		t.Errorf("status %d: %q, %s", status, stdout, stderr)
	}
}

// psbench runs the program psbench in the folder of psbench-cuda.
func psbench(environment []string, arguments ...string) (output string, err error) {
	command := exec.Command("../../bin/psbench", arguments...)
	command.Env = append(os.Environ(), environment...)
	out, err := command.CombinedOutput()
	return string(out), err
}

// onDouble skips a test that needs a setting of the driver's double.
func onDouble(t *testing.T) {
	t.Helper()
	out, err := psbench(nil, "list", "devices")
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if !strings.Contains(out, "psbench double") {
		t.Skip("cards are what they are, not what they are told to be")
	}
}

// psbench list devices states which devices can access each other's memory, according to the driver.
func TestListShowsPeers(t *testing.T) {
	onDouble(t)
	for _, c := range []struct{ peers, first, second string }{
		{"", "its own", "its own"},
		{"1:0", "its own", "cuda:0"},
		{"0:1,1:0", "cuda:1", "cuda:0"},
	} {
		out, err := psbench([]string{"PSBENCH_DOUBLE_DEVICES=2", "PSBENCH_DOUBLE_PEERS=" + c.peers}, "list", "devices")
		for ordinal, want := range []string{c.first, c.second} {
			if row := fmt.Sprintf(`(?m)^\| cuda:%d \|.*\| %s +\|`, ordinal, want); err != nil ||
				!regexp.MustCompile(row).MatchString(out) {
				t.Errorf("peers %q: %v, and no row is %s\n%s", c.peers, err, row, out)
			}
		}
	}
}

// If a card's compute mode excludes a run, the error says what to do.
func TestCardsThatAreTaken(t *testing.T) {
	onDouble(t)
	for _, c := range []struct{ mode, trainers, want string }{
		{"1", "2",
			"psbench: --ncudatrainer is 2 but cuda:0 (psbench double 8.0) is in compute mode exclusive, which allows one process, but 2 ranks share it: nvidia-smi -i "},
		{"prohibited", "1",
			"psbench: --ncudatrainer is 1 but cuda:0 (psbench double 8.0) is in compute mode prohibited, so no process may use it: nvidia-smi -i "},
		{"busy", "1",
			"psbench: trainer0: the engine of trainer ddp does not open: cuDevicePrimaryCtxRetain on cuda:0: " +
				"CUDA-capable device(s) is/are busy or unavailable (CUDA_ERROR_DEVICE_UNAVAILABLE, 46): the card's compute mode is exclusive process, so only one process at a time can use it: "},
	} {
		out, err := psbench([]string{"PSBENCH_DOUBLE_EXCLUSIVE=" + c.mode}, "run", "--quiet", "--ntrainer", "0",
			"--nserver", "0", "--ncudatrainer", c.trainers, "--iterations", "1")
		if err == nil || !strings.Contains(out, c.want) {
			t.Errorf("%s: %v, and it does not say %q\n%s", c.mode, err, c.want, out)
		}
	}
}
