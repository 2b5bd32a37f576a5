//go:build nvidia

// Package compute is what the plugin psbench-cuda serves: psbench's parts on the engine of a CUDA
// device. Models, criteria, the servers of means and of tables compute there; trainers, hooks, data and
// the server batch_update, which has the engine average and step, are psbench's own as they are.
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

// Open opens the device of the process; it is an engine.Opener. The core gives the number of the device,
// among the devices that the driver shows, in the environment; the default is 0.
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
		return nil, err // and no *Device in an interface, which would not be nil
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
