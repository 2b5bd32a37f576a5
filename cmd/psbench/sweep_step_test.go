package main

import (
	"os"
	"strconv"
	"syscall"
)

// killVariable is an environment variable that makes psbench kill itself at a point of a sweep. Points count from 1.
const killVariable = "TEST_KILL_AT_POINT"

// killAtPoint installs this kill if a test has set the variable.
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
