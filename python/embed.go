// Package python holds the Python package psbench, which plugins in Python import. Every psbench
// binary carries it.
package python

import "embed"

// Files are those of the package, below a folder psbench.
//
//go:embed psbench/*.py
var Files embed.FS
