package protocol

import (
	"slices"
	"testing"
	"time"

	"github.com/psbench/psbench/internal/comm/wire"
	"github.com/psbench/psbench/internal/host/protocol/protocoltest"
	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/sdk"
)

// The host records how long a part has a bucket before its first request: an operation, or the end.
// The recorded time excludes the part's later work and the time that an operation waits for its
// turn.
func TestHookIsStamped(t *testing.T) {
	const nap = 3 * time.Millisecond
	folder := t.TempDir()
	host := newHost(t, folder, "trainer0", "unix", late)
	h, store := hookOf(t, host, folder, bucketsOf(8, 8), func(p *protocoltest.Part, f wire.Header) error {
		time.Sleep(nap)
		ask := wire.Header{Op: opReduced, Batch: f.Batch, Bucket: f.Bucket}
		if f.Op == opReduce && f.Bucket == 0 {
			ask.Op = opAverage
		}
		return p.Send(ask)
	})
	h.Join(sdk.Links{Group: &links{}})
	for batch := range at(2) {
		for _, b := range store.Buckets[:2] {
			if err := h.Reduce(batch, b).Wait(); err != nil {
				t.Fatal(err)
			}
		}
	}
	var keys []sdk.Key
	host.Recorder.Series(record.HookMetric, record.HookBeside).Each(func(m sdk.Measurement) {
		if keys = append(keys, m.Key); m.DurationNS < int64(nap) {
			t.Errorf("%+v is shorter than the nap of the part", m)
		}
	})
	if want := []sdk.Key{{A: 0, B: 0}, {A: 0, B: 1}, {A: 1, B: 0}, {A: 1, B: 1}}; !slices.Equal(keys, want) {
		t.Errorf("it stamped %v, want %v", keys, want)
	}
}
