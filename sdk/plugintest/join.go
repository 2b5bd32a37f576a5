package plugintest

import (
	"testing"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/points/harness"
	"github.com/psbench/psbench/sdk"
)

// Join returns connected ranks that run in this process until the test ends. Each rank has a
// recorder, memory for the buckets, and links for these buckets. The links lead to a server that
// averages over all ranks, to a group and to a second group. Run the operations of each rank on a
// goroutine of its own.
func Join(t testing.TB, ranks int, buckets ...tensor.BucketSpec) []sdk.TrainerParts {
	t.Helper()
	joined, end, err := harness.Join(ranks, buckets)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := end(); err != nil {
			t.Error(err)
		}
	})
	var parts []sdk.TrainerParts
	for _, r := range joined {
		parts = append(parts, r.TrainerParts)
	}
	return parts
}
