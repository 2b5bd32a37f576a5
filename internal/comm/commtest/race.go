//go:build race

package commtest

// raceDetector is true in builds with the race detector, in which tests take
// several times as long.
const raceDetector = true
