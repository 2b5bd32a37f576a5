//go:build race

package main

// raceDetector is true in race builds. Their processes take several times as long to start, so tests that start
// hundreds of processes start fewer in race builds. Race builds omit whole test files about printed or computed
// output, about plugins without the detector, and about failures of other systems.
const raceDetector = true

// passEpochs is a number of epochs that takes some hundred milliseconds per pass.
const passEpochs = "30"
