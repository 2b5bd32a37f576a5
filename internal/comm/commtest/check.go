package commtest

import (
	"flag"
	"testing"

	"pgregory.net/rapid"
)

// raceChecks is how often Check draws under the race detector, which a race shows in as well.
const raceChecks = "30"

// Rounds is how many of n rounds a test has that waits for what seldom happens: under the race
// detector, which sees it in any of them, fewer.
func Rounds(n int) int {
	if raceDetector {
		return n / 4
	}
	return n
}

// Check is rapid.Check, for a law whose draws take long: under the race detector there are
// fewer of them, unless the command line says how many. No test may run beside it.
func Check(t *testing.T, law func(*rapid.T)) {
	t.Helper()
	checks := flag.Lookup("rapid.checks")
	if before := checks.Value.String(); raceDetector && before == checks.DefValue {
		Must(t, flag.Set(checks.Name, raceChecks))
		defer func() { Must(t, flag.Set(checks.Name, before)) }()
	}
	rapid.Check(t, law)
}
