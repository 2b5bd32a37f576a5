package result

import "testing"

// Training lasts from the first start to the last end, minus the longest evaluation.
func TestThroughput(t *testing.T) {
	for name, c := range map[string]struct {
		works []Work
		want  Throughput
	}{
		"evaluated": {[]Work{
			{StartNS: 5e9, EndNS: 9e9, EvaluatedNS: 1e9, Samples: 10},
			{StartNS: 4e9, EndNS: 8e9, EvaluatedNS: 2e9, Samples: 20}, {StartNS: 6e9, EndNS: 7e9, Samples: 30},
		}, Throughput{Samples: 60, Seconds: 3, SamplesPerSecond: 20}},
		"one began only": {[]Work{{StartNS: 5e9, EndNS: 9e9, Samples: 10}, {StartNS: 4e9}},
			Throughput{Samples: 10, Seconds: 5, SamplesPerSecond: 2}},
		"all began only": {[]Work{{StartNS: 5e9}}, Throughput{}},
		"nobody":         {nil, Throughput{}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ThroughputOf(c.works); got != c.want {
				t.Errorf("%s: %+v, want %+v", name, got, c.want)
			}
		})
	}
}
