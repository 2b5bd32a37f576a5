//go:build nvidia

// Package driver is psbench's interface to NVIDIA's driver. The package covers contexts, memory, streams, events,
// modules, launches, memory shared between processes, pinned memory and graphs. Control calls use package cu. Hot
// calls use this package's own C functions, which neither allocate nor call back into Go.
//
// A process that imports this package needs libcuda.so.1 and a GPU. Otherwise, package early ends the process with
// an error message before its main function.
//
// Every call makes the device's context current on its thread, so that goroutines may move between threads. Several
// goroutines may call all methods concurrently.
package driver

// #cgo LDFLAGS: -lcuda
// #include "shim.h"
import "C"

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"unsafe"

	"gorgonia.org/cu"

	_ "github.com/psbench/psbench/cuda/driver/early" // prints an error message; cu would only exit
)

// Context is the primary context of a device. All parts of a process share it.
type Context struct {
	device cu.Device
	cu     cu.CUContext
	c      C.CUcontext
	info   DeviceInfo

	lost  atomic.Pointer[Error] // the error that ended the context; all later calls fail
	owned resources
}

// DeviceInfo describes a device.
type DeviceInfo struct {
	Ordinal           int     // device number in this process, from 0
	Name              string  // e.g. "NVIDIA H100 80GB HBM3"
	UUID              string  // "GPU-" and 36 characters; the same in every process
	MemoryBytes       int64   // total memory
	ComputeCapability Version // capability of its multiprocessors
	DriverVersion     Version // newest CUDA version that the driver supports
}

// Version is a version of CUDA or of a compute capability.
type Version struct{ Major, Minor int }

// Before reports whether v is older than w.
func (v Version) Before(w Version) bool {
	return v.Major < w.Major || v.Major == w.Major && v.Minor < w.Minor
}

func (v Version) String() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }

// Open retains the primary context of the device with this number, from 0.
func Open(ordinal int) (*Context, error) {
	count, err := cu.NumDevices()
	if err != nil {
		return nil, newError("cuDeviceGetCount", codeOf(err))
	}
	if ordinal < 0 || ordinal >= count {
		return nil, fmt.Errorf("there is no device cuda:%d: the driver shows %d, numbered from 0", ordinal, count)
	}
	c := &Context{info: DeviceInfo{Ordinal: ordinal}}
	if c.device, err = cu.GetDevice(ordinal); err != nil {
		return nil, c.errorOf("cuDeviceGet", err)
	}
	if err := c.describe(); err != nil {
		return nil, err
	}
	if c.cu, err = c.device.RetainPrimaryCtx(); err != nil {
		return nil, c.refused(c.errorOf("cuDevicePrimaryCtxRetain", err))
	}
	c.c = C.CUcontext(handle(&c.cu))
	return c, nil
}

func (c *Context) describe() (err error) {
	info := &c.info
	if info.Name, err = c.device.Name(); err != nil {
		return c.errorOf("cuDeviceGetName", err)
	}
	uuid, err := c.device.UUID()
	if err != nil {
		return c.errorOf("cuDeviceGetUuid", err)
	}
	info.UUID = "GPU-" + uuid.String()
	if info.MemoryBytes, err = c.device.TotalMem(); err != nil {
		return c.errorOf("cuDeviceTotalMem", err)
	}
	if info.ComputeCapability.Major, err = c.device.Attribute(cu.ComputeCapabilityMajor); err != nil {
		return c.errorOf("cuDeviceGetAttribute", err)
	}
	if info.ComputeCapability.Minor, err = c.device.Attribute(cu.ComputeCapabilityMinor); err != nil {
		return c.errorOf("cuDeviceGetAttribute", err)
	}
	version := cu.Version() // 12040 means 12.4
	info.DriverVersion = Version{version / 1000, version % 1000 / 10}
	return nil
}

// Device returns the description of the device.
func (c *Context) Device() DeviceInfo { return c.info }

// Handle returns the CUcontext, for libraries that allocate in the context.
func (c *Context) Handle() unsafe.Pointer { return unsafe.Pointer(c.c) }

// String returns the device's name in messages: "cuda:0".
func (c *Context) String() string { return fmt.Sprintf("cuda:%d", c.info.Ordinal) }

// Synchronize waits until the device has finished all work of this process.
func (c *Context) Synchronize() error {
	return c.do("cuCtxSynchronize", cu.Synchronize)
}

// Close releases the context with all its allocations. The error counts the allocations that were not freed. For a
// lost device, the error is the loss.
func (c *Context) Close() error {
	var left error
	if unfreed := c.owned.unfreed(); unfreed != "" {
		left = fmt.Errorf("%v is closed while it holds %s", c, unfreed)
	}
	if lost := c.lost.Load(); lost != nil {
		// The context's allocations can no longer be freed one by one; the end of the process frees them.
		left = lost
	}
	if err := c.device.ReleasePrimaryCtx(); err != nil && left == nil {
		left = c.errorOf("cuDevicePrimaryCtxRelease", err)
	}
	return left
}

// do runs a call of package cu, which uses the context that is current on its thread.
func (c *Context) do(asked string, call func() error) error {
	if err := c.usable(asked); err != nil {
		return err
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cu.SetCurrentContext(c.cu); err != nil {
		return c.errorOf("cuCtxSetCurrent", err)
	}
	if err := call(); err != nil {
		return c.errorOf(asked, err)
	}
	return nil
}

// giveBack runs a call that frees a resource of the context. On a lost device it does nothing: the end of the
// process frees the resources, and Close reports the loss.
func (c *Context) giveBack(asked string, call func() error) error {
	if c.Lost() {
		return nil
	}
	return c.do(asked, call)
}

// refused adds advice to an error of a card that refuses a context.
func (c *Context) refused(err error) error {
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	mode, _ := c.device.Attribute(cu.ComputeMode)
	switch mode {
	case computeModeProhibited:
		e.Advice =
			"the card's compute mode is prohibited, so no process may use it: set another by nvidia-smi -c DEFAULT"
	case computeModeExclusive:
		e.Advice =
			"the card's compute mode is exclusive process, so only one process at a time can use it: end that process, start MPS, or set nvidia-smi -c DEFAULT"
	default:
		if e.Code == OutOfMemory {
			e.Advice = "other processes have its memory: nvidia-smi shows them"
		}
	}
	return e
}

// The compute modes in which a card refuses a process.
const (
	computeModeProhibited = 2
	computeModeExclusive  = 3
)

// handle returns the driver's pointer in a value of package cu. Each such value is a struct of one pointer.
func handle[T any](of *T) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(of)) }
