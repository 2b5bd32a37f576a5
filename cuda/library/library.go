//go:build nvidia

// Package library finds NVIDIA's libraries at run time, if they are there: cuBLAS, which multiplies
// matrices, and NCCL, which all-reduces between cards. psbench needs neither.
package library

// #cgo LDFLAGS: -lcuda -ldl
// #include "shim.h"
import "C"

import (
	"fmt"
	"strings"
	"unsafe"
)

// load tries names in order until one is loaded. The error names all of them, and says why where one
// is there but does not load.
func load(library string, names []string, try func(name *C.char) *C.char) error {
	var why string
	for _, name := range names {
		c := C.CString(name)
		failed := try(c)
		C.free(unsafe.Pointer(c))
		if failed == nil {
			return nil
		}
		// What is missing begins its own message; all else is the trouble of a library that is there.
		if text := C.GoString(failed); why == "" && !strings.HasPrefix(text, name+": cannot open shared object file: No such file") {
			why = fmt.Sprintf(": %s: %s", name, text)
		}
	}
	return fmt.Errorf("no %s: none of %s can be loaded%s", library, strings.Join(names, ", "), why)
}
