//go:build nvidia

// Package library finds NVIDIA's libraries at run time: cuBLAS for matrix products, and NCCL for all-reduces
// between cards. psbench also works without them.
package library

// #cgo LDFLAGS: -lcuda -ldl
// #include "shim.h"
import "C"

import (
	"fmt"
	"slices"
	"strings"
	"unsafe"
)

// places describes where psbench looks for libraries.
const places = "where the loader looks (LD_LIBRARY_PATH) or in Python's packages"

// load tries names in order until a library loads and works. load tries the loader's paths first and then Python's
// packages. The error lists all names, with the fault of each library that exists.
func load(library string, names []string, try func(name *C.char) *C.char, works func() error) error {
	var why []string
	candidates := slices.Clone(names)
	for _, name := range names {
		candidates = append(candidates, inWheels(name)...)
	}
	for _, name := range candidates {
		c := C.CString(name)
		failed := try(c)
		C.free(unsafe.Pointer(c))
		if failed != nil {
			// The message for a missing library begins with the name; other messages are faults of a library that exists.
			if text := C.GoString(failed); !strings.HasPrefix(text,
				name+": cannot open shared object file: No such file") {
				why = append(why, name+": "+text)
			}
			continue
		}
		err := works()
		if err == nil {
			return nil
		}
		why = append(why, name+": "+err.Error())
	}
	listed := strings.Join(names, ", ")
	if len(why) == 0 {
		return fmt.Errorf("no %s: none of %s is %s", library, listed, places)
	}
	return fmt.Errorf("no %s: none of %s works: %s", library, listed, strings.Join(why, "; "))
}
