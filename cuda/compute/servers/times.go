//go:build nvidia

package servers

import (
	"errors"

	"github.com/psbench/psbench/cuda/compute/device"
	"github.com/psbench/psbench/sdk"
)

// times are what the server average measures on the device, by batch and bucket, and of a large bucket
// by piece: pushes that are copied in, means, and answers that are copied out; and of buckets that are shared
// by all the whole mean, which the host does not wait for.
type times struct {
	in, lane, shared      *device.Timer
	copyIn, mean, copyOut *sdk.Series
}

func (t *times) open(d *device.Device, r *sdk.Recorder, in, lane *device.Lane) (err error) {
	d.MeasureClock(r)
	t.copyIn = r.Series(device.DeviceMetric, "device copy in")
	t.mean = r.Series(device.DeviceMetric, "device average")
	t.copyOut = r.Series(device.DeviceMetric, "device copy out")
	if t.in, err = d.NewTimer(in.Stream); err != nil {
		return err
	}
	if t.lane, err = d.NewTimer(lane.Stream); err != nil {
		return err
	}
	t.shared, err = d.NewTimer(lane.Stream)
	return err
}

// read records what has ended, and keeps the clock, whose stream the server gives no work.
func (t *times) read(d *device.Device) error {
	return errors.Join(t.in.Read(), t.lane.Read(), t.shared.Read(), d.KeepTime())
}
