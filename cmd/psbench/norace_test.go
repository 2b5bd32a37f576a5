//go:build !race

package main

const raceDetector = false

// passEpochs make passes of some hundred milliseconds.
const passEpochs = "80"
