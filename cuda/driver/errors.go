//go:build nvidia

package driver

// #include "shim.h"
import "C"

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Code is a CUresult.
type Code int

// The error codes that psbench distinguishes.
const (
	InvalidValue   Code = 1
	OutOfMemory    Code = 2
	NoBinary       Code = 209 // the card is too old for the PTX
	InvalidPTX     Code = 218
	UnsupportedPTX Code = 222 // the driver is too old for the PTX
	NotFound       Code = 500
	NotReady       Code = 600 // work is still running
	NotPermitted   Code = 800
	NotSupported   Code = 801
	Unknown        Code = 999
)

// sticky are the codes after which the context fails all calls: a kernel failed, or the card did.
var sticky = map[Code]bool{
	214:     true, // uncorrectable ECC
	220:     true, // uncorrectable NVLink
	226:     true, // contained
	700:     true, // illegal address
	702:     true, // a kernel that ran too long
	709:     true, // the context is destroyed
	710:     true, // assert
	714:     true, // hardware stack
	715:     true, // illegal instruction
	716:     true, // misaligned address
	717:     true, // address space
	718:     true, // program counter
	719:     true, // launch failed
	Unknown: true, // except for the calls in dispensable; it remains after a card fell off the bus
}

// dispensable are prefixes of calls that pin memory or share it with other processes. A run that lacks either
// stages its buckets. For these calls, Unknown is only a refusal: drivers also return it if a container or a
// virtual machine forbids the call.
var dispensable = []string{"cuMemHostRegister", "cuIpcGet", "cuIpcOpen", interprocessEvent}

// interprocessEvent is the name in errors of creating such an event.
const interprocessEvent = "cuEventCreate for other processes"

// Error is an error code from the driver.
type Error struct {
	Asked  string // the call and its purpose: "cuMemAlloc of 4096 bytes on cuda:0"
	Code   Code
	Name   string // "CUDA_ERROR_OUT_OF_MEMORY"
	Text   string // "out of memory"
	Advice string // state or advice; may be empty

	lost bool
}

// Error returns one sentence: "cuMemAlloc of 4096 bytes on cuda:0: out of memory (CUDA_ERROR_OUT_OF_MEMORY, 2):
// 1024 of 16384 bytes are free".
func (e *Error) Error() string {
	s := fmt.Sprintf("%s: %s (%s, %d)", e.Asked, e.Text, e.Name, e.Code)
	if e.Advice != "" {
		s += ": " + e.Advice
	}
	return s
}

// Lost reports whether the device is lost, for engine.Lost.
func (e *Error) Lost() bool { return e.lost }

func newError(asked string, code Code) *Error {
	return &Error{
		Asked: asked,
		Code:  code,
		Name:  C.GoString(C.psb_error_name(C.CUresult(code))),
		Text:  strings.TrimSuffix(C.GoString(C.psb_error_text(C.CUresult(code))), "."),
	}
}

// codeOf returns the CUresult in an error of package cu. The type of that error is not exported.
func codeOf(err error) Code {
	if v := reflect.ValueOf(err); v.Kind() == reflect.Int {
		return Code(v.Int())
	}
	return InvalidValue
}

// errorOf converts an error of package cu to an Error.
func (c *Context) errorOf(asked string, err error) error { return c.failed(asked, codeOf(err)) }

// check converts the result of a hot call to an error, nil if the call succeeded.
func (c *Context) check(asked string, result C.CUresult) error {
	if result == C.CUDA_SUCCESS {
		return nil
	}
	return c.failed(asked, Code(result))
}

// checkBytes does the same as check for a call about so many bytes.
func (c *Context) checkBytes(asked string, bytes int, result C.CUresult) error {
	if result == C.CUDA_SUCCESS {
		return nil
	}
	return c.failed(ofBytes(asked, bytes), Code(result))
}

func ofBytes(asked string, bytes int) string { return fmt.Sprintf("%s of %d bytes", asked, bytes) }

func (c *Context) failed(asked string, code Code) error {
	e := newError(fmt.Sprintf("%s on %v", asked, c), code)
	refused := code == Unknown &&
		slices.ContainsFunc(dispensable, func(call string) bool { return strings.HasPrefix(asked, call) })
	if e.lost = sticky[code] && !refused; e.lost {
		e.Advice =
			"this process can no longer use the device; if the card failed, the kernel log has the cause (dmesg, Xid)"
		if !c.lost.CompareAndSwap(nil, e) {
			return c.usable(asked)
		}
	}
	return e
}

// Lost reports whether an error has ended the context. From then on, calls that free resources do nothing and
// return no error.
func (c *Context) Lost() bool { return c.lost.Load() != nil }

// usable returns the error that ended the context, for all later calls, or nil.
func (c *Context) usable(asked string) error {
	lost := c.lost.Load()
	if lost == nil {
		return nil
	}
	return fmt.Errorf("%s on %v: the device was lost before: %w", asked, c, lost)
}
