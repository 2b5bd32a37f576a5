// Package python holds the Python package psbench, which Python plugins import. Every psbench binary contains it.
package python

import "embed"

// Files are the files of the package, in a folder psbench.
//
//go:embed psbench/*.py psbench/*/*.py psbench/*/*/*.py psbench/py.typed psbench/psbench.binpb
var Files embed.FS
