package plugintest

import (
	"testing"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/points/harness"
	"github.com/psbench/psbench/sdk"
)

// Join gives so many ranks, joined within this process until the test ends: each finds links to
// a server that averages over all of them, to a group and to a second group, memory for the
// buckets, which these links take, and a recorder. A rank's operations belong on a goroutine of
// its own.
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
