//go:build race

package main

// raceDetector is true in race builds. Processes of race builds take several times as long to start, so tests that
// would start hundreds of them start fewer. Race builds omit whole test files about printed or computed output, about
// plugins without the detector, and about failures of other systems.
const raceDetector = true

// passEpochs is a number of epochs that takes some hundred milliseconds per pass.
const passEpochs = "30"
