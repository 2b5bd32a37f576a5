package sdk_test

import (
	"fmt"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/sdk"
)

// A part gets its series, counters and gauges when it is built, and records in them during the
// pass. In a run, psbench provides the recorder and reads it. Here, the example does both.
func ExampleRecorder() {
	recorder := &sdk.Recorder{}
	choosing := recorder.Series("topk_metric", "choosing")
	kept := recorder.Gauge("topk_metric", "kept", "%")
	steps := recorder.Counter("topk_metric", "steps", "1")

	for batch := range int64(2) {
		key := sdk.Key{A: batch, B: 0} // batch and bucket
		start := comm.Now()
		choosing.Record(key, start, comm.Now())
		kept.Record(key, 12.5)
		steps.Add(1)
	}

	all := recorder.All()
	for _, gauge := range all.Gauges {
		gauge.Each(func(key sdk.Key, value float64) {
			fmt.Printf("%s of %s: %g %s\n", gauge.Name, key, value, gauge.Unit)
		})
	}
	fmt.Println(len(all.Series), "series,", all.Counters[0].Value, "steps,", recorder.Err())
	// Output:
	// kept of 0,0: 12.5 %
	// kept of 1,0: 12.5 %
	// 1 series, 2 steps, <nil>
}
