package main

import (
	"os"
	"strconv"
	"syscall"
)

// killVariable has psbench kill itself at a point of a sweep, counted from 1.
const killVariable = "TEST_KILL_AT_POINT"

// killAtPoint makes psbench do so, where a test set the variable.
func killAtPoint() {
	left, err := strconv.Atoi(os.Getenv(killVariable))
	if err != nil {
		return
	}
	sweepStep = func(string) {
		if left--; left == 0 {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
	}
}
