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

// The answers that psbench tells apart.
const (
	InvalidValue   Code = 1
	OutOfMemory    Code = 2
	NoBinary       Code = 209 // the card is too old for the PTX
	InvalidPTX     Code = 218
	UnsupportedPTX Code = 222 // the driver is too old for the PTX
	NotFound       Code = 500
	NotReady       Code = 600 // work is under way
	NotPermitted   Code = 800
	NotSupported   Code = 801
	Unknown        Code = 999
)

// sticky are the codes after which the context answers nothing else: what runs on the card went
// wrong, or the card did.
var sticky = map[Code]bool{
	214:     true, // uncorrectable ECC
	220:     true, // uncorrectable NVLink
	226:     true, // contained
	700:     true, // illegal address
	702:     true, // a kernel that ran too long
	709:     true, // the context is gone
	710:     true, // assert
	714:     true, // hardware stack
	715:     true, // illegal instruction
	716:     true, // misaligned address
	717:     true, // address space
	718:     true, // program counter
	719:     true, // launch failed
	Unknown: true, // but of the calls in dispensable: which is what is left of a card that fell off the bus
}

// dispensable begin the calls that pin memory, and that share it with other processes. A run that lacks either
// stages its buckets. Unknown is a refusal there: drivers also answer it where a container or a virtual machine does
// not let them do that.
var dispensable = []string{"cuMemHostRegister", "cuIpcGet", "cuIpcOpen", interprocessEvent}

// interprocessEvent is what errors call the making of one.
const interprocessEvent = "cuEventCreate for other processes"

// Error is an answer of the driver other than success.
type Error struct {
	Asked  string // the call and what it was for: "cuMemAlloc of 4096 bytes on cuda:0"
	Code   Code
	Name   string // "CUDA_ERROR_OUT_OF_MEMORY"
	Text   string // "out of memory"
	Advice string // what there was, or what to do; may be empty

	lost bool
}

// Error is one sentence: "cuMemAlloc of 4096 bytes on cuda:0: out of memory
// (CUDA_ERROR_OUT_OF_MEMORY, 2): 1024 of 16384 bytes are free".
func (e *Error) Error() string {
	s := fmt.Sprintf("%s: %s (%s, %d)", e.Asked, e.Text, e.Name, e.Code)
	if e.Advice != "" {
		s += ": " + e.Advice
	}
	return s
}

// Lost says that the device is lost, as engine.Lost asks.
func (e *Error) Lost() bool { return e.lost }

func newError(asked string, code Code) *Error {
	return &Error{
		Asked: asked,
		Code:  code,
		Name:  C.GoString(C.psb_error_name(C.CUresult(code))),
		Text:  strings.TrimSuffix(C.GoString(C.psb_error_text(C.CUresult(code))), "."),
	}
}

// codeOf is the CUresult in an error of package cu, whose type for it has no exported name.
func codeOf(err error) Code {
	if v := reflect.ValueOf(err); v.Kind() == reflect.Int {
		return Code(v.Int())
	}
	return InvalidValue
}

// errorOf makes an Error of one of package cu.
func (c *Context) errorOf(asked string, err error) error { return c.failed(asked, codeOf(err)) }

// check makes an error of the answer to a hot call, nil if it succeeded.
func (c *Context) check(asked string, result C.CUresult) error {
	if result == C.CUDA_SUCCESS {
		return nil
	}
	return c.failed(asked, Code(result))
}

// checkBytes is check for a call about so many bytes.
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
			"nothing can be had of the device in this process any more; the kernel log has the cause where the card failed (dmesg, Xid)"
		if !c.lost.CompareAndSwap(nil, e) {
			return c.usable(asked)
		}
	}
	return e
}

// Lost says whether an error has ended the context. What gives something back does nothing then, and says nothing.
func (c *Context) Lost() bool { return c.lost.Load() != nil }

// usable is the error of every call after one that the context did not survive.
func (c *Context) usable(asked string) error {
	lost := c.lost.Load()
	if lost == nil {
		return nil
	}
	return fmt.Errorf("%s on %v: the device was lost before: %w", asked, c, lost)
}
