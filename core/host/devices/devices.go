// Package devices lists the GPUs of this machine as the CUDA driver reports them. A child process asks the driver,
// because the driver may crash or hang, and psbench must survive that.
package devices

import (
	"fmt"
	"os"
	"strings"
)

// List is the CUDA driver's report on this machine.
type List struct {
	// Driver is the CUDA version that the driver supports: 1000 times the major version plus 10 times the minor
	// one. 12040 is 12.4.
	Driver  int      `json:"driver"`
	Devices []Device `json:"devices"` // at least one, in the order of their ordinals
	MPS     MPS      `json:"mps"`
	// Visible is CUDA_VISIBLE_DEVICES, with which the driver hides and renumbers devices; nil if the variable is
	// not set.
	Visible *string `json:"visible,omitempty"`
}

// Device is a GPU.
type Device struct {
	Ordinal   int    `json:"ordinal"` // among the visible ones
	Name      string `json:"name"`
	MemoryMiB int64  `json:"memory_mib"`
	// FreeBytes is the free memory when the driver was asked; 0 if it was not asked or did not say.
	FreeBytes int64 `json:"free_bytes,omitempty"`
	// Capability is the compute capability, as in 9.0.
	Capability string `json:"compute_capability"`
	UUID       string `json:"uuid"`         // as nvidia-smi writes it, GPU-...; "" where the driver does not tell
	Mode       Mode   `json:"compute_mode"` // how many processes may use it
	Peers      []int  `json:"peers"`        // ordinals of the devices whose memory it can access
}

// Mode says how many processes may compute on a device at once.
type Mode string

// The compute modes of the driver.
const (
	Shared     Mode = "default"
	Exclusive  Mode = "exclusive"  // one process
	Prohibited Mode = "prohibited" // none
)

// MPS is the Multi-Process Service. With it, kernels of several processes run on a device at once; without it they
// take turns.
type MPS struct {
	Used bool `json:"used"`
	// Known says how psbench found this out.
	Known string `json:"known"`
}

// LeastDriver is the oldest driver, in the format of List.Driver, that has all calls of psbench: the calls for IPC
// and graphs came with CUDA 11.0. leastCapability is the minimum for the kernels.
const (
	LeastDriver     = 11000
	leastCapability = 7
)

// Version formats a CUDA version: 12040 becomes 12.4.
func Version(v int) string { return fmt.Sprintf("%d.%d", v/1000, v%1000/10) }

// ID is the name of a device in messages, such as cuda:0. Its engine uses the same name.
func (d Device) ID() string { return fmt.Sprintf("cuda:%d", d.Ordinal) }

// title names a device in a sentence.
func (d Device) title() string { return fmt.Sprintf("%s (%s)", d.ID(), d.Name) }

// Check returns an error that explains why this many CUDA ranks cannot run here.
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

// CheckMemory returns an error if the ranks that share a device need more memory than is free. bytes is the minimum
// for all of them together.
func (d Device) CheckMemory(ranks []string, bytes int64) error {
	if d.FreeBytes == 0 || bytes <= d.FreeBytes {
		return nil
	}
	return fmt.Errorf("%s has no memory for %s: parameters, gradients and tables there need %d bytes at least, but %d are free: choose a smaller model, or end what else uses the device",
		d.title(), strings.Join(ranks, ", "), bytes, d.FreeBytes)
}

// name is the name that nvidia-smi accepts; its numbers differ from the driver's.
func (d Device) name() string {
	if d.UUID != "" {
		return d.UUID
	}
	return fmt.Sprint(d.Ordinal)
}

// leaveOut says how to run without a device.
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

// visibleVariable hides devices from the driver.
const visibleVariable = "CUDA_VISIBLE_DEVICES"

// visible is its value, nil where it is not set.
func visible() *string {
	if value, ok := os.LookupEnv(visibleVariable); ok {
		return &value
	}
	return nil
}
