// Package mutants takes each wait, each event and each call of the driver out of psbench's CUDA code, by
// itself, and sees that a test fails without it. It is tests alone: make mutate-cuda runs all of them,
// make test-cuda a few. The tree stays as it is, since the compiler gets a changed file by -overlay.
package mutants
