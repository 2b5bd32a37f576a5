package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/core/record/result"
)

// A rerun keeps variables of output options and variables that are not options.
func TestOutputEnviron(t *testing.T) {
	got := OutputEnviron([]string{"HOME=/", "PSBENCH_NTRAINER=2", "PSBENCH_REPORT=full", "PSBENCH_SIMD=none",
		"NTRAINER=3"})
	want := []string{"HOME=/", "PSBENCH_REPORT=full", "PSBENCH_SIMD=none", "NTRAINER=3"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// DefaultDifferences omits a default that only one configuration contains.
func TestDefaultDifferences(t *testing.T) {
	old := []result.Value{{Key: "epochs", Value: 1}, {Key: "batch_size", Value: 2}, {Key: "server", Value: "one"}}
	now := []result.Value{{Key: "epochs", Value: 3}, {Key: "ntrainer", Value: 4}, {Key: "server", Value: "one"}}
	want := []result.Difference{{Name: "default of epochs", Old: "1", New: "3"}}
	if d := cmp.Diff(want, DefaultDifferences(old, now)); d != "" {
		t.Error(d)
	}
}

// WithoutDerivedTransport removes only a transport that psbench derived.
func TestWithoutDerivedTransport(t *testing.T) {
	chosen := result.Value{Key: Transport, Value: "tcp", Origin: "flag --transport"}
	own := result.Value{Key: Transport, Value: "shm", Origin: derived + "one host"}
	other := result.Value{Key: "server", Value: "one", Origin: derived}
	got := WithoutDerivedTransport([]result.Value{chosen, own, other})
	if d := cmp.Diff([]result.Value{chosen, other}, got); d != "" {
		t.Error(d)
	}
}
