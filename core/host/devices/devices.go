// Package devices says which GPUs this machine has, as its CUDA driver tells it. The driver is
// asked in a process of its own: it may crash or hang, and psbench itself stays without it.
package devices

import (
	"fmt"
	"os"
	"strings"
)

// List is what the CUDA driver says of this machine.
type List struct {
	// Driver is the version of CUDA that the driver serves, 1000 times the major one and 10
	// times the minor one: 12040 is 12.4.
	Driver  int      `json:"driver"`
	Devices []Device `json:"devices"` // at least one, in the order of their ordinals
	MPS     MPS      `json:"mps"`
	// Visible is CUDA_VISIBLE_DEVICES, by which the driver hides devices and renumbers the
	// others; nil where it is not set.
	Visible *string `json:"visible,omitempty"`
}

// Device is a GPU.
type Device struct {
	Ordinal   int    `json:"ordinal"` // among the visible ones
	Name      string `json:"name"`
	MemoryMiB int64  `json:"memory_mib"`
	// FreeBytes is what of it nobody had when the driver was asked; 0 where it does not tell, or was not asked.
	FreeBytes int64 `json:"free_bytes,omitempty"`
	// Capability is the compute capability, as in 9.0.
	Capability string `json:"compute_capability"`
	UUID       string `json:"uuid"`         // as nvidia-smi writes it, GPU-...; "" where the driver does not tell
	Mode       Mode   `json:"compute_mode"` // who may use it
	Peers      []int  `json:"peers"`        // ordinals of the devices whose memory it reaches
}

// Mode says how many processes may compute on a device at once.
type Mode string

// The compute modes of the driver.
const (
	Shared     Mode = "default"
	Exclusive  Mode = "exclusive"  // one process
	Prohibited Mode = "prohibited" // none
)

// MPS is the Multi-Process Service, with which kernels of several processes run on a device at
// once. Without it they take turns.
type MPS struct {
	Used bool `json:"used"`
	// Known is how that is known.
	Known string `json:"known"`
}

// LeastDriver is the oldest driver, as List has it, that has all that psbench calls: versions of
// the calls for IPC and for graphs came with CUDA 11.0. leastCapability is that of the kernels.
const (
	LeastDriver     = 11000
	leastCapability = 7
)

// Version is a version of CUDA as people write it.
func Version(v int) string { return fmt.Sprintf("%d.%d", v/1000, v%1000/10) }

// ID is what messages call a device, as its engine does.
func (d Device) ID() string { return fmt.Sprintf("cuda:%d", d.Ordinal) }

// title names a device in a sentence.
func (d Device) title() string { return fmt.Sprintf("%s (%s)", d.ID(), d.Name) }

// Check says why so many CUDA ranks cannot run here, if they cannot.
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
			return fmt.Errorf("%s is in compute mode prohibited, in which nobody may use it: nvidia-smi -i %s -c DEFAULT allows it, or %s",
				d.title(), d.name(), l.leaveOut(d))
		case d.Mode == Exclusive && sharing > 1 && !l.MPS.Used:
			return fmt.Errorf("%s is in compute mode exclusive, in which one process may use it, but %d ranks share it: nvidia-smi -i %s -c DEFAULT allows them, or start MPS",
				d.title(), sharing, d.name())
		}
	}
	return nil
}

// CheckMemory says that ranks which share a device need more of its memory than is free, if they do.
// bytes is what all of them together need at least.
func (d Device) CheckMemory(ranks []string, bytes int64) error {
	if d.FreeBytes == 0 || bytes <= d.FreeBytes {
		return nil
	}
	return fmt.Errorf("%s has no memory for %s: parameters, gradients and tables there need %d bytes at least, but %d are free: choose a smaller model, or end what else uses the device",
		d.title(), strings.Join(ranks, ", "), bytes, d.FreeBytes)
}

// name is what nvidia-smi knows the device by, whose numbers are others than the driver's.
func (d Device) name() string {
	if d.UUID != "" {
		return d.UUID
	}
	return fmt.Sprint(d.Ordinal)
}

// leaveOut says how a device is not used.
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

// visibleVariable is what the driver reads to hide devices.
const visibleVariable = "CUDA_VISIBLE_DEVICES"

// visible is its value, nil where it is not set.
func visible() *string {
	if value, ok := os.LookupEnv(visibleVariable); ok {
		return &value
	}
	return nil
}
