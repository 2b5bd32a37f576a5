//go:build nvidia

// Package double tests the double of the CUDA driver, a libcuda.so.1 in C for tests. The double's sources are in
// src, make builds it, and docs/double.md lists its checks. This package's Go code does not link it. The tests
// compile C programs that call the double as any program calls the driver.
package double
