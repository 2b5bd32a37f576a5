//go:build nvidia

// Package library finds NVIDIA's libraries at run time, if they are there: cuBLAS, which multiplies
// matrices, and NCCL, which all-reduces between cards. psbench needs neither.
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

// places are where libraries are looked for.
const places = "where the loader looks (LD_LIBRARY_PATH) or in Python's packages"

// load tries names in order until one is loaded and works: first those that the loader finds, then those in
// Python's packages. The error names all of them, and says of each that is there what is wrong with it.
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
			// What is missing begins its own message; all else is the trouble of a library that is there.
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
