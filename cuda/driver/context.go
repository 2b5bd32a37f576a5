//go:build nvidia

// Package driver is what psbench asks of NVIDIA's driver: contexts, memory, streams, events,
// modules, launches, memory shared between processes, pinned memory and graphs. Control calls go
// through package cu, hot ones through C functions of its own, which neither allocate nor call back.
//
// A process that imports it needs libcuda.so.1 and a GPU to get as far as its main function: package
// early ends it with a sentence otherwise.
//
// Every call makes the device's context current on the thread that it is on, so that goroutines may
// move between threads. All methods may be called by several goroutines at a time.
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

	_ "github.com/psbench/psbench/cuda/driver/early" // a sentence where cu only exits
)

// Context is the primary context of a device, which all parts of a process share.
type Context struct {
	device cu.Device
	cu     cu.CUContext
	c      C.CUcontext
	info   DeviceInfo

	lost  atomic.Pointer[Error] // the error that ended the context, after which nothing can be had of it
	owned resources
}

// DeviceInfo says what a device is.
type DeviceInfo struct {
	Ordinal           int     // its number in this process, from 0
	Name              string  // e.g. "NVIDIA H100 80GB HBM3"
	UUID              string  // "GPU-" and 36 characters: the same in every process
	MemoryBytes       int64   // all of its memory
	ComputeCapability Version // what its multiprocessors can do
	DriverVersion     Version // the newest CUDA that the driver knows
}

// Version is that of CUDA or of a compute capability.
type Version struct{ Major, Minor int }

// Before says that v is older than another version.
func (v Version) Before(w Version) bool {
	return v.Major < w.Major || v.Major == w.Major && v.Minor < w.Minor
}

func (v Version) String() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }

// Open retains the primary context of the device of that number, from 0.
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
	version := cu.Version() // 12040 is 12.4
	info.DriverVersion = Version{version / 1000, version % 1000 / 10}
	return nil
}

// Device says what the device is.
func (c *Context) Device() DeviceInfo { return c.info }

// Handle is the CUcontext, for libraries that allocate in it.
func (c *Context) Handle() unsafe.Pointer { return unsafe.Pointer(c.c) }

// String is what messages call the device: "cuda:0".
func (c *Context) String() string { return fmt.Sprintf("cuda:%d", c.info.Ordinal) }

// Synchronize waits until the device has done all that this process gave it.
func (c *Context) Synchronize() error {
	return c.do("cuCtxSynchronize", cu.Synchronize)
}

// Close releases the context with all its allocations. Its error counts the allocations that were not
// freed before, or is the loss of a lost device.
func (c *Context) Close() error {
	var left error
	if unfreed := c.owned.unfreed(); unfreed != "" {
		left = fmt.Errorf("%v is closed while it holds %s", c, unfreed)
	}
	if lost := c.lost.Load(); lost != nil {
		// What the context holds cannot be freed one by one any more: its process ends it.
		left = lost
	}
	if err := c.device.ReleasePrimaryCtx(); err != nil && left == nil {
		left = c.errorOf("cuDevicePrimaryCtxRelease", err)
	}
	return left
}

// do makes a call of package cu, which takes the context that is current on its thread.
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

// giveBack is do of a call that gives back what the context gave. A lost device takes nothing back: what
// it holds goes with the process, and Close tells of the loss.
func (c *Context) giveBack(asked string, call func() error) error {
	if c.Lost() {
		return nil
	}
	return c.do(asked, call)
}

// refused adds what to do about a card that gives no context.
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
			"the card's compute mode is exclusive process, so one process at a time has it: end that, or start MPS, or set nvidia-smi -c DEFAULT"
	default:
		if e.Code == OutOfMemory {
			e.Advice = "other processes have its memory: nvidia-smi shows them"
		}
	}
	return e
}

// The compute modes of a card that refuse a process.
const (
	computeModeProhibited = 2
	computeModeExclusive  = 3
)

// handle is what a value of package cu holds, each of which is a struct of one pointer of the driver.
func handle[T any](of *T) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(of)) }
