//go:build nvidia

// Package double has the tests of the double of the CUDA driver, a libcuda.so.1 in C for tests. Its sources are in
// src, make builds it, and docs/double.md says what it checks. Nothing in Go is linked with it here: the tests compile
// programs in C, which call it as any program calls the driver.
package double
