//go:build nvidia

package mutants

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// which is "all" if make mutate-cuda requests every mutant instead of only the representatives.
const which = "PSBENCH_TEST_MUTANTS"

// TestMutants requires that some test fails for each mutant. The test's log names that test.
func TestMutants(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("go is not here, which compiles the mutants")
	}
	shim := read(t, "cuda/driver/shim.c")
	if shim == "" {
		t.Skip("the sources are not here")
	}
	for _, m := range slices.Concat(ofShim(shim), ofCU, handmade) {
		text := read(t, m.file)
		if n := strings.Count(text, m.old); n != 1 {
			t.Errorf("%s: what is replaced is in %s %d times: %s", m.what, m.file, n, m.old)
			continue
		}
		if os.Getenv(which) != "all" && !slices.Contains(representatives, m.what) {
			continue
		}
		t.Run(m.what, func(t *testing.T) {
			failed := m.failing(t, strings.Replace(text, m.old, m.new, 1))
			if failed == "" {
				t.Fatalf("no test of %s fails without it", m.packages)
			}
			t.Logf("| %s | %s |", m.what, failed)
		})
	}
}

var (
	failure = regexp.MustCompile(`(?m)^--- FAIL: (\w+)`)
	ended   = regexp.MustCompile(`(?m)^(?:panic|fatal error|SIG\w+|cuda double: process \d+): .*|signal: .*`)
)

// failing returns the tests that fail with the file changed to text, or "" if none does.
func (m *mutant) failing(t *testing.T, text string) string {
	t.Helper()
	changed := filepath.Join(t.TempDir(), filepath.Base(m.file))
	source, err := filepath.Abs(filepath.Join(root, m.file))
	check(t, err)
	overlay := changed + ".json"
	check(t, os.WriteFile(changed, []byte(text), 0o600))
	replaced, err := json.Marshal(map[string]map[string]string{"Replace": {source: changed}})
	check(t, err)
	check(t, os.WriteFile(overlay, replaced, 0o600))
	arguments := []string{"test", "-tags", "nvidia", "-short", "-vet", "off", "-failfast", "-count", "1", "-timeout",
		"2m", "-overlay", overlay, "-run", m.tests}
	for _, p := range strings.Fields(m.packages) {
		arguments = append(arguments, "./cuda/"+p)
	}
	command := exec.CommandContext(t.Context(), "go", arguments...)
	command.Dir = root
	out, err := command.CombinedOutput()
	said := string(out)
	switch {
	case err == nil:
		return ""
	case strings.Contains(said, "[build failed]"):
		t.Fatalf("it is no program:\n%.2000s", said)
	}
	var names []string
	for _, found := range failure.FindAllStringSubmatch(said, -1) {
		if !slices.Contains(names, found[1]) {
			names = append(names, found[1])
		}
	}
	if len(names) == 0 {
		return "all, since the process ends: " + ended.FindString(said)
	}
	return strings.Join(names, ", ")
}

// read returns a file of the repository, or "" if it does not exist.
func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, file))
	if os.IsNotExist(err) {
		return ""
	}
	check(t, err)
	return string(text)
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
