package run

import (
	"slices"
	"strings"
	"testing"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/core/host/devices"
	"github.com/psbench/psbench/core/host/placement"
	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/core/process/cluster"
	"github.com/psbench/psbench/sdk"
)

// A device must have enough free memory for the minimum that its ranks need together.
func TestMemoryOfDevices(t *testing.T) {
	const mib = 1 << 20
	for name, c := range map[string]struct {
		service sdk.Service
		free    []int64 // of each device
		want    string
	}{
		"it fits exactly": {sdk.ServiceGradients, []int64{24 * mib}, ""},
		"it does not": {sdk.ServiceGradients, []int64{24*mib - 1},
			"cuda:0 (Card) has too little memory for trainer0, trainer1, server2: parameters, gradients and tables need at least 25165824 bytes, but 25165823 are free: choose a smaller model, or end other programs on the device"},
		"nobody knows": {sdk.ServiceGradients, []int64{0}, ""},
		"two devices":  {sdk.ServiceGradients, []int64{12 * mib, 12 * mib}, ""},
		"the second": {sdk.ServiceGradients, []int64{12 * mib, 5 * mib},
			"cuda:1 (Card) has too little memory for trainer1: parameters, gradients and tables need at least 12582912 bytes, but 5242880 are free: choose a smaller model, or end other programs on the device"},
		"parameters": {sdk.ServiceParameters, []int64{35 * mib},
			"cuda:0 (Card) has too little memory for trainer0, trainer1, server2: parameters, gradients and tables need at least 37748736 bytes, but 36700160 are free: choose a smaller model, or end other programs on the device"},
		"tables": {sdk.ServiceTables, []int64{39 * mib},
			"cuda:0 (Card) has too little memory for trainer0, trainer1, server2: parameters, gradients and tables need at least 41943040 bytes, but 40894464 are free: choose a smaller model, or end other programs on the device"},
	} {
		t.Run(name, func(t *testing.T) {
			e := experiment(0, 0, registry.Links{Server: true})
			e.World, e.Service = config.World{CUDATrainers: 2, CUDAServers: 1}, c.service
			e.CUDA = &config.CUDA{Devices: &devices.List{}}
			for i, free := range c.free {
				e.CUDA.Devices.Devices = append(e.CUDA.Devices.Devices,
					devices.Device{Ordinal: i, Name: "Card", MemoryMiB: 64, FreeBytes: free})
			}
			r := laidOut(&run{e: e})
			layout, err := place(e, r.processes, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.processes.onDevicesOf(layout, e, false)
			for _, p := range r.processes.all {
				p.Process = placed{site: cluster.Site{Host: cluster.CoreHost}}
			}
			r.result = newResult(e, Options{})
			r.model.Parameters = []sdk.ParameterSpec{{Shape: []int{mib, 2}}}
			r.result.Buckets = []tensor.BucketSpec{{Elements: mib / 2}, {Sparse: true, Width: 2, Capacity: mib / 4}}
			r.result.Tables = []comm.TableSpec{{Rows: mib, Width: 4}}
			text := ""
			if err := r.checkDevices(); err != nil {
				text = err.Error()
			}
			if text != c.want {
				t.Errorf("%s: got\n%s\nwant\n%s", name, text, c.want)
			}
		})
	}
}

// The core's host needs no device if all CUDA ranks run on other hosts.
func TestDevicesOfOtherHosts(t *testing.T) {
	e := experiment(0, 0, registry.Links{Server: true})
	e.World, e.CUDA = config.World{CUDATrainers: 2, CUDAServers: 1}, &config.CUDA{Devices: &devices.List{}}
	r := laidOut(&run{e: e})
	layout, err := place(e, r.processes, []placement.Host{{Name: "core"}, {Name: "node2", GPUs: 2}})
	if err != nil {
		t.Fatal(err)
	}
	r.processes.onDevicesOf(layout, e, false)
	for _, p := range slices.Concat(r.processes.trainers, r.processes.servers) {
		if placed, _ := layout.Of(p.Name); placed.Host != 1 || p.device == nil {
			t.Errorf("%s is on host %d, on device %v", p.Name, placed.Host, p.device)
		}
	}
	if cuda := newResult(e, Options{}).Environment.CUDA; cuda != nil {
		t.Errorf("the result has %v of this host", cuda)
	}
	if _, err := place(e, r.processes, nil); err == nil ||
		!strings.Contains(err.Error(), "trainer0 computes on a CUDA device, but") {
		t.Errorf("on the core's host alone it gives %v", err)
	}
}
