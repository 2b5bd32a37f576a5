package launch

import (
	"strings"
	"testing"
)

func TestBase(t *testing.T) {
	for dir, want := range map[string]string{
		"/tmp/short":             "/tmp/short",
		"/tmp/with a space":      "/tmp/with a space",
		"/tmp/a|b":               "/tmp",
		"/tmp/a\nb":              "/tmp",
		"/tmp/a\x1bb":            "/tmp",
		strings.Repeat("/d", 21): "/tmp",
	} {
		t.Run(dir, func(t *testing.T) {
			t.Setenv("TMPDIR", dir)
			if got := base(); got != want {
				t.Errorf("TMPDIR %q: %q", dir, got)
			}
		})
	}
}
