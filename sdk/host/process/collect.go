package process

import (
	"time"

	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/host/record"
)

// CollectGrace is how long Collect waits for a pass that failed to end. What is
// collected while it still runs may end in the middle of an iteration.
const CollectGrace = time.Second

// CollectSeries sends the recorder's series.
func (p *Process) CollectSeries(send record.Send) error { return SendSeries(p.Recorder.All(), send) }

// SendSeries sends series in pieces.
func SendSeries(all []sdk.Snapshot, send record.Send) error {
	for i := range all {
		for _, chunk := range all[i].Chunks() {
			if err := send(&record.Series{Type: all[i].Type, Name: all[i].Name, Measurements: chunk}); err != nil {
				return err
			}
		}
	}
	return nil
}

// Facts adds what a part has to report to a map, which is made if it is nil.
func Facts(into map[string]string, part any) map[string]string {
	if d, ok := part.(sdk.Describer); ok {
		if into == nil {
			into = map[string]string{}
		}
		for k, v := range d.Facts() {
			into[k] = v
		}
	}
	return into
}
