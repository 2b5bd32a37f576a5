package sdk_test

import (
	"testing"

	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/plugintest"
)

// The parts in the examples obey the contracts of their kinds.
func TestPartsOfExamplesKeepTheirContracts(t *testing.T) {
	for _, part := range []sdk.Part{averagePart, counterPart, linePart} {
		t.Run(part.Key, func(t *testing.T) { plugintest.Check(t, part) })
	}
}
