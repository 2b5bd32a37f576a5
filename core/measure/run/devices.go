package run

import (
	"github.com/psbench/psbench/core/host/devices"
	"github.com/psbench/psbench/core/process/cluster"
	"github.com/psbench/psbench/sdk"
)

const elementBytes = 4 // bytes of a float32

// checkDevices returns an error if a device has less free memory than its ranks need together. It runs before any rank
// allocates memory. Optimizer state, a batch and a server's staging memory need more; a rank reports itself if these do
// not fit.
func (r *run) checkDevices() error {
	type shared struct {
		devices.Device
		ranks []string
		bytes int64
	}
	var all []*shared // by device ordinal
	for _, p := range cluster.AtCore(r.processes.all) {
		if p.device == nil || p.host != nil {
			continue
		}
		for len(all) <= p.device.Ordinal {
			all = append(all, &shared{})
		}
		on := all[p.device.Ordinal]
		on.Device, on.ranks, on.bytes = *p.device, append(on.ranks, p.Name), on.bytes+r.deviceBytes(p)
	}
	for _, on := range all {
		if err := on.CheckMemory(on.ranks, on.bytes); err != nil {
			return err
		}
	}
	return nil
}

// deviceBytes returns the number of bytes that a rank occupies on its device throughout a pass. A rank that computes or
// holds the model needs memory for its parameters and their gradients. A server of tables needs memory for its table.
func (r *run) deviceBytes(p *process) (bytes int64) {
	switch {
	case p.kind == sdk.KindServer && r.e.Service == sdk.ServiceTables:
		t := r.result.Tables[p.position]
		return int64(t.Rows) * int64(t.Width) * elementBytes
	case p.kind == sdk.KindServer && r.e.Service != sdk.ServiceParameters:
		return 0
	}
	for _, parameter := range r.model.Parameters {
		elements := int64(1)
		for _, n := range parameter.Shape {
			elements *= int64(n)
		}
		bytes += elements * elementBytes
	}
	for _, b := range r.result.Buckets {
		if b.Sparse {
			bytes += int64(b.Capacity) * int64(b.Width) * elementBytes
		} else {
			bytes += int64(b.Elements) * elementBytes
		}
	}
	return bytes
}
