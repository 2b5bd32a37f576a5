package result

import (
	"runtime/debug"
	"testing"
)

func TestCommit(t *testing.T) {
	vcs := []debug.BuildSetting{
		{Key: "GOOS", Value: "linux"},
		{Key: "vcs.revision", Value: "a3139f635c0c65107de03843375dd28e9ebac764"},
		{Key: "vcs.modified", Value: "false"},
	}
	changed := append(vcs[:2:2], debug.BuildSetting{Key: "vcs.modified", Value: "true"})
	for _, c := range []struct {
		name, stamped string
		settings      []debug.BuildSetting
		want          string
	}{
		{"the Makefile's stamp", "v0.2.0-3-ga3139f6-dirty", vcs, "v0.2.0-3-ga3139f6-dirty"},
		{"the Go tool's", "", vcs, "a3139f635c0c"},
		{"of a changed tree", "", changed, "a3139f635c0c-dirty"},
		{"a short revision", "", []debug.BuildSetting{{Key: "vcs.revision", Value: "a3139f6"}}, "a3139f6"},
		{"nothing", "", nil, "unknown"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := commitOf(c.stamped, c.settings); got != c.want {
				t.Errorf("%s: the commit is %q, want %q", c.name, got, c.want)
			}
		})
	}
}
