//go:build !race

package main

const raceDetector = false

// passEpochs is a number of epochs that takes some hundred milliseconds per pass.
const passEpochs = "80"
