package plugins

import (
	"testing"

	"github.com/psbench/psbench/sdk/plugintest"
)

// All of psbench's own parts keep the contracts that parts from outside are held to.
func TestConformance(t *testing.T) {
	for _, part := range Parts() {
		if part.InTrainer() {
			continue
		}
		t.Run(string(part.Kind)+" "+part.Key, func(t *testing.T) { plugintest.Check(t, part) })
	}
}
