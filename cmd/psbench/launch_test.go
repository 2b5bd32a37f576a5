package main

import (
	"testing"
)

// Whoever hangs is blamed, in time, and nobody who waits for it.
func TestHangingConstructorIsBlamed(t *testing.T) {
	f := startPsbench(t, append(withActor(t, script{}), "--ntrainer", "1", "--rpc-timeout", "1", "--server", "hanging")...)
	f.ended("server1: server hanging is not made after 1 s")
}
