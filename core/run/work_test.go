package run

import (
	"testing"

	"github.com/psbench/psbench/core/result"
	"github.com/psbench/psbench/sdk/proto"
)

// Training lasts from the first start to the last end, without the longest evaluation.
func TestThroughput(t *testing.T) {
	for name, c := range map[string]struct {
		works []*proto.Work
		want  result.Throughput
	}{
		"evaluated": {[]*proto.Work{
			{StartNs: 5e9, EndNs: 9e9, EvaluatedNs: 1e9, Samples: 10}, {StartNs: 4e9, EndNs: 8e9, EvaluatedNs: 2e9, Samples: 20}, {StartNs: 6e9, EndNs: 7e9, Samples: 30},
		}, result.Throughput{Samples: 60, Seconds: 3, SamplesPerSecond: 20}},
		"one began only": {[]*proto.Work{{StartNs: 5e9, EndNs: 9e9, Samples: 10}, {StartNs: 4e9}}, result.Throughput{Samples: 10, Seconds: 5, SamplesPerSecond: 2}},
		"all began only": {[]*proto.Work{{StartNs: 5e9}}, result.Throughput{}},
		"nobody":         {nil, result.Throughput{}},
	} {
		if got := throughput(c.works); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
