package sdk

import (
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// DirectoryVariable names the environment variable that holds the run's socket
// folder; JanitorVariable holds it in the environment of the process that is
// there only to remove it.
const (
	DirectoryVariable = "PSBENCH_PLUGIN_DIR"
	JanitorVariable   = "PSBENCH_PLUGIN_JANITOR"
)

// DirectoryPrefix begins the name of every socket folder; no other folder is
// ever removed.
const DirectoryPrefix = "psbench-"

// guardFD is the read end of a pipe whose write end only the core holds.
const guardFD = 3

// guard makes the process end with the core, however the core ends, and remove
// the run's socket folder. In the janitor it does not return.
func guard() {
	if directory := os.Getenv(JanitorVariable); directory != "" {
		// When its parent dies, the kernel hangs up on a stopped process and
		// continues it.
		signal.Ignore(unix.SIGHUP)
		outlive(directory)
	}
	if directory := os.Getenv(DirectoryVariable); directory != "" && os.Getenv(Handshake.MagicCookieKey) != "" {
		go outlive(directory)
	}
}

// outlive waits for the end of the core, which is the end of the pipe, removes
// the folder and ends the process.
func outlive(directory string) {
	unix.CloseOnExec(guardFD)
	_, _ = os.NewFile(guardFD, "guard").Read(make([]byte, 1))
	for range 100 { // another process may be adding a socket meanwhile
		if !strings.HasPrefix(filepath.Base(directory), DirectoryPrefix) || os.RemoveAll(directory) == nil { // #nosec G703 -- the core names it
			break
		}
	}
	os.Exit(1)
}
