package result

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// stampedCommit is set by the Makefile with -ldflags. The Go tool does not record the commit with -buildvcs=false or if
// another user owns the clone.
var stampedCommit string

// Version is the version of this psbench that the Go tool recorded, such as "v0.2.0". Version is "devel" for a build
// without version control.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "devel"
	}
	return info.Main.Version
}

// Build describes this psbench by version, commit, Go version and platform.
func Build() string {
	return fmt.Sprintf("%s, commit %s, %s, %s/%s", Version(), Commit(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// Commit is the commit from which this psbench was built, or "unknown". The commit ends with "-dirty" if the tree had
// changes.
func Commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return commitOf(stampedCommit, info.Settings)
}

// shortCommit is how many digits of a commit are shown.
const shortCommit = 12

func commitOf(stamped string, settings []debug.BuildSetting) string {
	if stamped != "" {
		return stamped
	}
	var revision, dirty string
	for _, s := range settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value[:min(len(s.Value), shortCommit)]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "-dirty"
		}
	}
	if revision == "" {
		return "unknown"
	}
	return revision + dirty
}
