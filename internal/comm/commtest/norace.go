//go:build !race

package commtest

const raceDetector = false
