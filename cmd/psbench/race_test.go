//go:build race

package main

// raceDetector is true in race builds, whose processes take several times as long to
// start: tests that start hundreds of them run fewer there. Files of tests about what is printed
// or computed, about plugins that are built without the detector, or about failures of other
// systems are left out of them.
const raceDetector = true

// passEpochs make passes of some hundred milliseconds.
const passEpochs = "30"
