//go:build nvidia

package device_test

import (
	"strings"
	"testing"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/cuda/compute/device"
	"github.com/psbench/psbench/cuda/compute/internal/computetest"
	"github.com/psbench/psbench/sdk/engine"
)

// loses makes the double lose the device at its first kernel. The process exits with everything still allocated.
var loses = []string{"PSBENCH_DOUBLE_LOST=1", "PSBENCH_DOUBLE_EXIT=0"}

// cause is the driver's error for the loss.
const cause = "(CUDA_ERROR_UNKNOWN, 999)"

// Giving resources back to a lost device returns no error, except for the call that detects the loss. Close returns
// the loss once.
func TestWhatIsLeftOfALostDevice(t *testing.T) {
	computetest.OnDouble(t)
	for name, heard := range map[string]bool{"by a copy before the end": true, "by the end": false} {
		t.Run(name, func(t *testing.T) {
			computetest.Alone(t, func(t *testing.T) { t.Helper(); gives(t, heard) }, loses...)
		})
	}
}

func gives(t *testing.T, heard bool) {
	t.Helper()
	d, err := device.Open(0)
	must(t, err)
	host := tensor.Float32Bytes(computetest.Shared(t, 1024))
	adopted, err := d.Adopt(host)
	must(t, err)
	beside, err := d.Adopt(make([]byte, 512))
	must(t, err)
	sent, err := device.NewTransfer[float32](d, d.Compute())
	must(t, err)
	_, err = sent.Put(make([]float32, 7))
	must(t, err)
	end, x := joined(t, d, 1)
	d.Compute().Queue.Scale(2, x)
	must(t, d.Compute().Queue.Err())
	if heard {
		said(t, "a copy", d.Wait(d.CopyOut(host[:4*len(x)], tensor.Float32Bytes(x))))
	} else {
		said(t, "the first Close", adopted.Close())
	}
	d.Free(tensor.Float32Bytes(x))
	for what, err := range map[string]error{"what is adopted": adopted.Close(),
		"what is beside pinned memory": beside.Close(), "an end": end.Close(), "a transfer": sent.Close()} {
		if err != nil {
			t.Errorf("%s says, after the loss was told: %v", what, err)
		}
	}
	said(t, "the device", d.Close())
}

// said requires that an error reports the loss of the device exactly once.
func said(t *testing.T, what string, err error) {
	t.Helper()
	if err == nil || !engine.Lost(err) || strings.Count(err.Error(), cause) != 1 || len(err.Error()) > 300 {
		t.Errorf("%s says %v, which is not the loss in at most 300 bytes", what, err)
	}
}
