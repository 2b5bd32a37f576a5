//go:build race

package plugins

// raceDetector says that the tests run with it, ten times slower.
const raceDetector = true
