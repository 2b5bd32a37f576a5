package commtest

import (
	"flag"
	"testing"

	"pgregory.net/rapid"
)

// raceChecks is the number of draws per Check under the race detector. The
// detector finds a race in any draw, so fewer draws suffice.
const raceChecks = "30"

// Rounds returns the number of rounds for a test that waits for a rare event.
// Rounds returns n, or fewer under the race detector, which detects the event
// in any round.
func Rounds(n int) int {
	if raceDetector {
		return n / 4
	}
	return n
}

// Check is rapid.Check for a law whose draws take long. Check makes fewer draws
// under the race detector, unless the command line sets their number. No other
// test may run in parallel.
func Check(t *testing.T, law func(*rapid.T)) {
	t.Helper()
	checks := flag.Lookup("rapid.checks")
	if before := checks.Value.String(); raceDetector && before == checks.DefValue {
		Must(t, flag.Set(checks.Name, raceChecks))
		defer func() { Must(t, flag.Set(checks.Name, before)) }()
	}
	rapid.Check(t, law)
}
