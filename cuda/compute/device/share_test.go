//go:build nvidia

package device_test

import (
	"os"
	"testing"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/cuda/compute/device"
	"github.com/psbench/psbench/cuda/compute/internal/computetest"
)

// offered has what another process of the test is to open.
const offered = "TEST_CUDA_OFFER"

// Who closes what it has opened of another process has done with it: the owner frees it then.
func TestEndsCloseBehindTheirWork(t *testing.T) {
	if os.Getenv(offered) != "" {
		addsAndCloses(t)
		return
	}
	d := computetest.Open(t)
	end, x := joined(t, d, 1)
	computetest.Alone(t, addsAndCloses, offered+"="+string(end.Offer()))
	want := computetest.Random(len(x), 1)
	for i, v := range computetest.Random(len(x), 2) {
		want[i] += v
	}
	computetest.Near(t, "what another process has added to", computetest.Out(t, d, x), want, 0)
}

// addsAndCloses adds to the bucket that is offered, and closes it while nobody has waited for the sum.
func addsAndCloses(t *testing.T) {
	t.Helper()
	d := computetest.Open(t)
	end, x := joined(t, d, 2)
	theirs, err := end.Import(0, []byte(os.Getenv(offered)))
	must(t, err)
	must(t, end.Give(0))
	must(t, end.Sum(0, [][]float32{x, theirs[0]}, false))
	must(t, end.Close())
}

// joined is an end that lends one bucket, of random numbers.
func joined(t *testing.T, d *device.Device, seed uint64) (comm.DeviceEnd, []float32) {
	t.Helper()
	spec := tensor.BucketSpec{Elements: 1000}
	x := computetest.In(t, d, computetest.Random(spec.Elements, seed))
	end, err := d.Join([]tensor.BucketSpec{spec},
		[]*tensor.Bucket{{BucketSpec: spec, Gradient: tensor.Gradient{Values: x}}})
	must(t, err)
	return end, x
}
