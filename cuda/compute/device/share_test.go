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

// offered holds the objects that another process of the test opens.
const offered = "TEST_CUDA_OFFER"

// When a process closes an object of another process, its work on the object has ended. The owner then frees the
// object.
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

// addsAndCloses adds to the offered bucket and closes it before anything has waited for the sum.
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

// joined returns an end that lends one bucket of random numbers.
func joined(t *testing.T, d *device.Device, seed uint64) (comm.DeviceEnd, []float32) {
	t.Helper()
	spec := tensor.BucketSpec{Elements: 1000}
	x := computetest.In(t, d, computetest.Random(spec.Elements, seed))
	end, err := d.Join([]tensor.BucketSpec{spec},
		[]*tensor.Bucket{{BucketSpec: spec, Gradient: tensor.Gradient{Values: x}}})
	must(t, err)
	return end, x
}
