//go:build race

package commtest

// raceDetector is true in race builds, in which a test takes several times as long.
const raceDetector = true
