package run

import (
	"testing"

	"github.com/psbench/psbench/core/result"
	"github.com/psbench/psbench/sdk/host/record"
)

// Training lasts from the first start to the last end, without the longest evaluation.
func TestThroughput(t *testing.T) {
	for name, c := range map[string]struct {
		works []record.Work
		want  result.Throughput
	}{
		"evaluated": {[]record.Work{
			{StartNS: 5e9, EndNS: 9e9, EvaluatedNS: 1e9, Samples: 10}, {StartNS: 4e9, EndNS: 8e9, EvaluatedNS: 2e9, Samples: 20}, {StartNS: 6e9, EndNS: 7e9, Samples: 30},
		}, result.Throughput{Samples: 60, Seconds: 3, SamplesPerSecond: 20}},
		"one began only": {[]record.Work{{StartNS: 5e9, EndNS: 9e9, Samples: 10}, {StartNS: 4e9}}, result.Throughput{Samples: 10, Seconds: 5, SamplesPerSecond: 2}},
		"all began only": {[]record.Work{{StartNS: 5e9}}, result.Throughput{}},
		"nobody":         {nil, result.Throughput{}},
	} {
		if got := throughput(c.works); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
