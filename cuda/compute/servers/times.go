//go:build nvidia

package servers

import (
	"errors"

	"github.com/psbench/psbench/cuda/compute/device"
	"github.com/psbench/psbench/sdk"
)

// times are the device measurements of the server average, by batch and bucket, and by piece for a large bucket.
// The measurements cover copies in of pushes, means, and copies out of answers. For buckets that all trainers
// share, the measurements cover the whole mean, because the host does not wait for it.
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

// read records measurements that have ended, and keeps the clock set. The server gives no work to the clock's
// stream.
func (t *times) read(d *device.Device) error {
	return errors.Join(t.in.Read(), t.lane.Read(), t.shared.Read(), d.KeepTime())
}
