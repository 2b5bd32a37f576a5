//go:build race

package main

// raceDetector is true in race builds, whose processes take several times as long to
// start: tests that start hundreds of them run fewer there.
const raceDetector = true
