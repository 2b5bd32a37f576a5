//go:build nvidia

// Package compute is the content of the plugin psbench-cuda: psbench's parts on the engine of a CUDA device.
// Models, criteria, and the servers of means and tables compute on the device. Trainers, hooks, data and the server
// batch_update are psbench's unchanged parts; for batch_update, the engine averages and steps.
package compute

import (
	"fmt"
	"os"
	"slices"
	"strconv"

	"github.com/psbench/psbench/cuda/compute/criteria"
	"github.com/psbench/psbench/cuda/compute/device"
	"github.com/psbench/psbench/cuda/compute/models"
	"github.com/psbench/psbench/cuda/compute/servers"
	"github.com/psbench/psbench/internal/host"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/plugins"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

// Open opens the device of the process; it is an engine.Opener. The core passes the device number in the
// environment, counted among the devices that the driver shows; the default is 0.
func Open() (engine.Engine, error) {
	ordinal := 0
	if text := os.Getenv(host.CUDADeviceVariable); text != "" {
		var err error
		if ordinal, err = strconv.Atoi(text); err != nil || ordinal < 0 {
			return nil, fmt.Errorf("the environment variable %s is %s but must be the number of a device, from 0",
				host.CUDADeviceVariable, quote.String(text))
		}
	}
	d, err := device.Open(ordinal)
	if err != nil {
		return nil, err // a nil *Device in an interface would not be nil
	}
	return d, nil
}

// Parts returns psbench's parts. Parts that compute on the device replace their counterparts in Go.
func Parts() []sdk.Part {
	own := slices.Concat(models.Parts(), criteria.Parts(), servers.Parts())
	parts := slices.DeleteFunc(plugins.Parts(), func(p sdk.Part) bool {
		return slices.ContainsFunc(own, func(o sdk.Part) bool { return o.Kind == p.Kind && o.Key == p.Key })
	})
	return append(parts, own...)
}
