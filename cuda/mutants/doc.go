// Package mutants checks the tests of psbench's CUDA code. The package removes each wait, each event and each call
// of the driver in turn, and requires that a test fails. The package contains only tests: make mutate-cuda runs all
// mutants, make test-cuda a few. The source files stay unchanged, because the compiler gets each changed file by
// -overlay.
package mutants
