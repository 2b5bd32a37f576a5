//go:build nvidia

package device

import "fmt"

// Facts implements sdk.Describer: it reports the libraries that compute and how host memory is copied.
func (d *Device) Facts() map[string]string {
	f := map[string]string{
		"engine":             d.Name(),
		"device":             d.info.Name,
		"device_uuid":        d.info.UUID,
		"compute_capability": d.info.ComputeCapability.String(),
		"driver":             d.info.DriverVersion.String(),
		"device_memory":      fmt.Sprintf("%d MiB", d.info.MemoryBytes>>20),
		"pinned":             "yes",
	}
	if by := d.kernels.Multiplies(); by != "" {
		f["blas"] = by
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.refused != nil {
		f["pinned"] = "no: " + d.refused.Error()
	}
	return f
}
