package commtest

import (
	"os"
	"strings"
)

// emulator names the environment variable that holds the command for running
// test executables of another processor, such as "qemu-aarch64".
const emulator = "PSBENCH_TEST_EMULATOR"

// Emulator is the command prefix that starts a test executable. Emulator is
// empty if the executable runs on this processor.
func Emulator() []string { return strings.Fields(os.Getenv(emulator)) }

// NeedsKernel skips a test that needs a kernel feature which a user-mode
// emulator does not emulate.
func NeedsKernel(t interface {
	Helper()
	Skipf(format string, args ...any)
}, what string) {
	t.Helper()
	if command := Emulator(); len(command) > 0 {
		t.Skipf("%s does not emulate %s", command[0], what)
	}
}
