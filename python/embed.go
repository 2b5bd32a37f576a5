// Package python holds the Python package psbench, which plugins in Python import. Every psbench
// binary carries it.
package python

import "embed"

// Files are those of the package, below a folder psbench.
//
//go:embed psbench/*.py psbench/*/*.py psbench/*/*/*.py psbench/py.typed psbench/psbench.binpb
var Files embed.FS
