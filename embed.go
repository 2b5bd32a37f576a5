// Package psbench holds the files that every psbench binary carries: the
// built-in registry and the built-in configurations.
package psbench

import "embed"

// Files holds registry.json and configs/*.json.
//
//go:embed registry.json configs/*.json
var Files embed.FS

// Registry is the built-in registry.json.
//
//go:embed registry.json
var Registry []byte
