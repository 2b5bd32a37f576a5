//go:build nvidia

package driver

// #include "shim.h"
//
// #cgo noescape psb_export_memory
// #cgo noescape psb_import_memory
import "C"

import (
	"errors"
	"fmt"
	"unsafe"

	"gorgonia.org/cu"
)

// Pointer is an address in a device's memory.
type Pointer uintptr

// Alloc allocates device memory with undefined content. If memory is short, the error reports how much there is. A
// handle of ExportMemory always shares a whole allocation.
func (c *Context) Alloc(bytes int) (Pointer, error) {
	asked := ofBytes("cuMemAlloc", bytes)
	if bytes <= 0 {
		return 0, fmt.Errorf("%s on %v: a size must be positive", asked, c)
	}
	var memory cu.DevicePtr
	err := c.do(asked, func() (err error) {
		memory, err = cu.MemAlloc(int64(bytes))
		return err
	})
	if err != nil {
		return 0, c.withFree(err)
	}
	c.owned.add(allocations, uintptr(memory), bytes)
	return Pointer(memory), nil
}

// withFree adds the free memory of the device to the text of an out-of-memory error.
func (c *Context) withFree(err error) error {
	var e *Error
	if !errors.As(err, &e) || e.Code != OutOfMemory {
		return err
	}
	if free, total, err := c.FreeMemory(); err == nil {
		e.Advice = fmt.Sprintf("%d of %d bytes are free", free, total)
	}
	return e
}

// Free frees memory from Alloc. The driver waits for work that uses the memory.
func (c *Context) Free(memory Pointer) error {
	err := c.giveBack("cuMemFree", func() error { return cu.MemFree(cu.DevicePtr(memory)) })
	if err == nil {
		c.owned.remove(allocations, uintptr(memory))
	}
	return err
}

// FreeMemory returns how much memory of the device is free, and the total.
func (c *Context) FreeMemory() (freeBytes, totalBytes int64, err error) {
	err = c.do("cuMemGetInfo", func() (err error) {
		freeBytes, totalBytes, err = cu.MemInfo()
		return err
	})
	return freeBytes, totalBytes, err
}

// Register pins memory that Go did not allocate, such as a mapped file, so that copies overlap with other work.
// Memory that the process may only read must be registered as read-only. Not every device supports this.
func (c *Context) Register(host []byte, readOnly bool) error {
	if err := c.usable("cuMemHostRegister"); err != nil {
		return err
	}
	var flag C.int
	if readOnly {
		flag = 1
	}
	start := unsafe.Pointer(unsafe.SliceData(host))
	err := c.checkBytes("cuMemHostRegister", len(host), C.psb_host_register(c.c, start, C.size_t(len(host)), flag))
	if err == nil {
		c.owned.add(registrations, uintptr(start), len(host))
	}
	return err
}

// Unregister undoes Register for the same slice.
func (c *Context) Unregister(host []byte) error {
	if c.Lost() {
		return nil
	}
	start := unsafe.Pointer(unsafe.SliceData(host))
	err := c.checkBytes("cuMemHostUnregister", len(host), C.psb_host_unregister(c.c, start))
	if err == nil {
		c.owned.remove(registrations, uintptr(start))
	}
	return err
}

// AllocHost allocates pinned host memory.
func (c *Context) AllocHost(bytes int) ([]byte, error) {
	if err := c.usable("cuMemHostAlloc"); err != nil {
		return nil, err
	}
	if bytes <= 0 {
		return nil, fmt.Errorf("%s on %v: a size must be positive", ofBytes("cuMemHostAlloc", bytes), c)
	}
	var host unsafe.Pointer
	if err := c.checkBytes("cuMemHostAlloc", bytes, C.psb_host_alloc(c.c, &host, C.size_t(bytes))); err != nil {
		return nil, err
	}
	c.owned.add(pinned, uintptr(host), bytes)
	return unsafe.Slice((*byte)(host), bytes), nil
}

// FreeHost frees memory from AllocHost. The slice must be the whole allocation.
func (c *Context) FreeHost(host []byte) error {
	if c.Lost() {
		return nil
	}
	start := unsafe.Pointer(unsafe.SliceData(host))
	err := c.checkBytes("cuMemFreeHost", len(host), C.psb_host_free(c.c, start))
	if err == nil {
		c.owned.remove(pinned, uintptr(start))
	}
	return err
}

// ExportMemory returns a handle with which another process on the same machine can import the whole allocation that
// starts at memory.
func (c *Context) ExportMemory(memory Pointer) (handle [64]byte, err error) {
	if err := c.usable("cuIpcGetMemHandle"); err != nil {
		return handle, err
	}
	err = c.check("cuIpcGetMemHandle", C.psb_export_memory(c.c, unsafe.Pointer(&handle), C.CUdeviceptr(memory)))
	return handle, err
}

// ImportMemory maps an allocation of another process. The exporting process itself cannot import it. The importer
// must call CloseImported before the owner frees the allocation.
func (c *Context) ImportMemory(handle [64]byte) (Pointer, error) {
	if err := c.usable("cuIpcOpenMemHandle"); err != nil {
		return 0, err
	}
	var memory C.CUdeviceptr
	if err := c.check("cuIpcOpenMemHandle", C.psb_import_memory(c.c, &memory, unsafe.Pointer(&handle))); err != nil {
		return 0, err
	}
	c.owned.add(imports, uintptr(memory), 0)
	return Pointer(memory), nil
}

// SizeOf returns the size in bytes of the allocation that starts at memory. The allocation may be imported.
func (c *Context) SizeOf(memory Pointer) (bytes int, err error) {
	err = c.do("cuMemGetAddressRange", func() error {
		size, _, err := cu.DevicePtr(memory).AddressRange()
		bytes = int(size)
		return err
	})
	return bytes, err
}

// CloseImported removes the mapping of ImportMemory.
func (c *Context) CloseImported(memory Pointer) error {
	if c.Lost() {
		return nil
	}
	err := c.check("cuIpcCloseMemHandle", C.psb_close_memory(c.c, C.CUdeviceptr(memory)))
	if err == nil {
		c.owned.remove(imports, uintptr(memory))
	}
	return err
}
