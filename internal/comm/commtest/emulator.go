package commtest

import (
	"os"
	"strings"
)

// emulator is the variable with the command that runs the test executables, if they are
// for another processor: "qemu-aarch64".
const emulator = "PSBENCH_TEST_EMULATOR"

// Emulator is what must stand before a test executable to start it; nothing on the
// processor that it is for.
func Emulator() []string { return strings.Fields(os.Getenv(emulator)) }

// NeedsKernel skips a test of what an emulator of user programs keeps from the kernel.
func NeedsKernel(t interface {
	Helper()
	Skipf(format string, args ...any)
}, what string) {
	t.Helper()
	if command := Emulator(); len(command) > 0 {
		t.Skipf("%s does not emulate %s", command[0], what)
	}
}
