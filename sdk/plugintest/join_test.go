package plugintest

import (
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Connected ranks can reduce over every link.
func TestJoin(t *testing.T) {
	ranks := Join(t, 3, tensor.BucketSpec{Elements: 2, Parameters: []tensor.Span{{Elements: 2}}})
	for batch, c := range []struct {
		link   string
		reduce func(rank int, b *tensor.Bucket) *comm.Future
	}{
		{"server", func(i int, b *tensor.Bucket) *comm.Future { return ranks[i].Links.Server.PushPull(0, b) }},
		{"group", func(i int, b *tensor.Bucket) *comm.Future { return ranks[i].Links.Group.Average(0, b) }},
		{"default", func(i int, b *tensor.Bucket) *comm.Future { return ranks[i].Links.Default.Average(0, b) }},
	} {
		var all sync.WaitGroup
		for i, r := range ranks {
			all.Go(func() {
				b := r.Buckets[0]
				b.Gradient.Values[0], b.Gradient.Values[1] = float32(3*i), float32(batch)
				if err := c.reduce(i, b).Wait(); err != nil || b.Gradient.Values[0] != 3 ||
					b.Gradient.Values[1] != float32(batch) {
					t.Errorf("over the %s rank %d has %v, %v", c.link, i, b.Gradient.Values, err)
				}
			})
		}
		all.Wait()
	}
	ranks[0].Recorder.Counter("test", "done", "1").Add(1)
}
