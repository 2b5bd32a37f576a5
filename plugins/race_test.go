//go:build race

package plugins

// raceDetector reports whether the race detector is on; tests then run ten times slower.
const raceDetector = true
