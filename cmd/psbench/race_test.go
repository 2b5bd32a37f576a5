//go:build race

package main

// raceDetector is true in race builds, whose processes take several times as long to
// start: tests that start hundreds of them run fewer there. Files of tests about what is printed
// or computed are left out of them.
const raceDetector = true
