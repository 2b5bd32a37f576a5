// Package config turns defaults, a JSON file, the environment and flags into
// one Experiment. Every value keeps where it came from, and an unknown key is
// an error in every layer.
package config

//go:generate go test -run TestSchemas -update .
