// Package psbench holds the files that every psbench binary carries: the built-in registry, the built-in
// configurations, and what the module requires.
package psbench

import "embed"

// Files holds registry.json, configs/*.json and configs/sweeps/*.json.
//
//go:embed registry.json configs/*.json configs/sweeps/*.json
var Files embed.FS

// Registry is the built-in registry.json.
//
//go:embed registry.json
var Registry []byte

// GoMod and GoSum are the contents of go.mod and go.sum. A plugin that is built with this psbench needs the same
// requirements.
var (
	//go:embed go.mod
	GoMod []byte
	//go:embed go.sum
	GoSum []byte
)
