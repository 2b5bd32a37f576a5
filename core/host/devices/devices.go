// Package devices lists the GPUs of this machine as the CUDA driver reports them. A child process asks the driver,
// because the driver may crash or hang, and psbench must survive this.
package devices

import (
	"fmt"
	"os"
	"strings"
)

// List is what the CUDA driver reports about this machine.
type List struct {
	// Driver is the CUDA version that the driver supports. Driver is 1000 times the major version plus 10 times the
	// minor version, so 12040 is CUDA 12.4.
	Driver  int      `json:"driver"`
	Devices []Device `json:"devices"` // at least one, in the order of their ordinals
	MPS     MPS      `json:"mps"`
	// Visible is the value of CUDA_VISIBLE_DEVICES, or nil if it is not set. The driver applies this variable, hides
	// devices and renumbers the others.
	Visible *string `json:"visible,omitempty"`
}

// Device is a GPU.
type Device struct {
	Ordinal   int    `json:"ordinal"` // number among the visible devices
	Name      string `json:"name"`
	MemoryMiB int64  `json:"memory_mib"`
	// FreeBytes is the free memory at the time when the driver was asked. FreeBytes is 0 if the driver was not asked or
	// did not answer.
	FreeBytes int64 `json:"free_bytes,omitempty"`
	// Capability is the compute capability, such as 9.0.
	Capability string `json:"compute_capability"`
	UUID       string `json:"uuid"`         // GPU-..., as nvidia-smi writes it; "" if the driver does not report it
	Mode       Mode   `json:"compute_mode"` // how many processes may use the device
	Peers      []int  `json:"peers"`        // ordinals of the devices whose memory this device can access
}

// Mode says how many processes may compute on a device at once.
type Mode string

// These are the compute modes of the driver.
const (
	Shared     Mode = "default"
	Exclusive  Mode = "exclusive"  // one process at a time
	Prohibited Mode = "prohibited" // no process at all
)

// MPS is NVIDIA's Multi-Process Service. With MPS, kernels of several processes run on a device at once. Without MPS,
// processes take turns.
type MPS struct {
	Used bool `json:"used"`
	// Known says how psbench found out whether MPS is used.
	Known string `json:"known"`
}

// LeastDriver is the oldest driver that has all calls that psbench needs, in the format of List.Driver. The calls for
// IPC and graphs came with CUDA 11.0. leastCapability is the minimum compute capability for the kernels.
const (
	LeastDriver     = 11000
	leastCapability = 7
)

// Version formats a CUDA version, so 12040 becomes 12.4.
func Version(v int) string { return fmt.Sprintf("%d.%d", v/1000, v%1000/10) }

// ID returns the name of a device for messages, such as cuda:0. The device's engine uses the same name.
func (d Device) ID() string { return fmt.Sprintf("cuda:%d", d.Ordinal) }

// title returns the ID and the name of a device for messages.
func (d Device) title() string { return fmt.Sprintf("%s (%s)", d.ID(), d.Name) }

// Check returns an error if this many CUDA ranks cannot run here. The error explains why.
func (l *List) Check(ranks int) error {
	if l.Driver < LeastDriver {
		return fmt.Errorf("the driver serves CUDA %s, but psbench needs %s or newer: update the driver",
			Version(l.Driver), Version(LeastDriver))
	}
	for i, d := range l.Devices[:min(ranks, len(l.Devices))] {
		sharing := (ranks-i-1)/len(l.Devices) + 1
		var major int
		if _, err := fmt.Sscanf(d.Capability, "%d.", &major); err != nil || major < leastCapability {
			return fmt.Errorf("%s has the compute capability %s, but psbench's kernels need %d.0 or more: %s",
				d.title(), d.Capability, leastCapability, l.leaveOut(d))
		}
		switch {
		case d.Mode == Prohibited:
			return fmt.Errorf("%s is in compute mode prohibited, so no process may use it: nvidia-smi -i %s -c DEFAULT allows it, or %s",
				d.title(), d.name(), l.leaveOut(d))
		case d.Mode == Exclusive && sharing > 1 && !l.MPS.Used:
			return fmt.Errorf("%s is in compute mode exclusive, which allows one process, but %d ranks share it: nvidia-smi -i %s -c DEFAULT allows them, or start MPS",
				d.title(), sharing, d.name())
		}
	}
	return nil
}

// CheckMemory returns an error if the ranks that share a device need more memory than is free. bytes is the least
// memory that all of them together need.
func (d Device) CheckMemory(ranks []string, bytes int64) error {
	if d.FreeBytes == 0 || bytes <= d.FreeBytes {
		return nil
	}
	return fmt.Errorf("%s has too little memory for %s: parameters, gradients and tables need at least %d bytes, but %d are free: choose a smaller model, or end other programs on the device",
		d.title(), strings.Join(ranks, ", "), bytes, d.FreeBytes)
}

// name returns a name of the device that nvidia-smi accepts. The numbers of nvidia-smi differ from the driver's.
func (d Device) name() string {
	if d.UUID != "" {
		return d.UUID
	}
	return fmt.Sprint(d.Ordinal)
}

// leaveOut returns advice on how to run without a device.
func (l *List) leaveOut(d Device) string {
	if len(l.Devices) == 1 {
		return "run on the CPU"
	}
	var others []string
	for _, o := range l.Devices {
		if o.Ordinal != d.Ordinal {
			others = append(others, o.name())
		}
	}
	return "leave it out by CUDA_VISIBLE_DEVICES=" + strings.Join(others, ",")
}

// visibleVariable is the variable with which users hide devices from the driver.
const visibleVariable = "CUDA_VISIBLE_DEVICES"

// visible returns the value of this variable, or nil if it is not set.
func visible() *string {
	if value, ok := os.LookupEnv(visibleVariable); ok {
		return &value
	}
	return nil
}
