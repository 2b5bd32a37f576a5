//go:build nvidia

package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// start runs psbench-cuda, which make cuda built, with more in its environment.
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

// psbench asks a program beside it for its build, which must be its own.
func TestBuildIsThatOfPsbench(t *testing.T) {
	stdout, stderr, status := start(t, "version")
	out, err := exec.Command("../../bin/psbench", "version").Output()
	if err != nil {
		t.Fatal(err)
	}
	want := "psbench-cuda " + strings.TrimPrefix(string(out), "psbench ")
	if stdout != want || status != 0 {
		t.Errorf("status %d: %q, but psbench is %q\n%s", status, stdout, want, stderr)
	}
}

// Where CUDA cannot be used nothing stands on standard output, in the place of the plugin's address.
func TestNoDevice(t *testing.T) {
	stdout, stderr, status := start(t, "version", "PSBENCH_DOUBLE_DEVICES=0", "CUDA_VISIBLE_DEVICES=")
	if stdout != "" || status != 1 || !strings.HasPrefix(stderr, "the NVIDIA driver does not start: no CUDA-capable device is detected (CUDA_ERROR_NO_DEVICE, 100): it shows no GPU to this process") {
		t.Errorf("status %d: %q, %s", status, stdout, stderr)
	}
}

// Without the driver the loader says which library is missing.
func TestNoDriver(t *testing.T) {
	if _, err := os.Stat("/usr/lib/x86_64-linux-gnu/libcuda.so.1"); err == nil {
		t.Skip("the driver is where the loader always finds it")
	}
	stdout, stderr, status := start(t, "version", "LD_LIBRARY_PATH=")
	if stdout != "" || status == 0 || !strings.Contains(stderr, "libcuda.so.1") {
		t.Errorf("status %d: %q, %s", status, stdout, stderr)
	}
}
