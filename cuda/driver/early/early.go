//go:build nvidia

// Package early ends a process that cannot use CUDA, with a sentence on standard error. Package cu
// would end it too, with a line on standard output, which is where a plugin tells psbench its
// address. Go initializes packages that are ready in the order of their paths, and this one
// needs less than cu does and comes before it in the alphabet. It alone starts the driver.
package early

// #cgo LDFLAGS: -lcuda -ldl
// #include "init.h"
import "C"

import (
	"fmt"
	"os"
)

// oldest is the CUDA of the oldest driver that has every function which is called: 11.0.
const oldest = 11000

// AsksVersion says that the program is only asked what it is. It starts no driver then: that takes a second where many
// devices are, and there need be none.
func AsksVersion() bool { return len(os.Args) == 2 && os.Args[1] == "version" }

func init() {
	if AsksVersion() {
		return
	}
	if why := unusable(); why != "" {
		fmt.Fprintln(os.Stderr, why)
		os.Exit(1)
	}
}

func unusable() string {
	// These two are in every driver. Functions that an old one lacks are not looked for
	// before they are called.
	if result := C.psb_start(); result != C.CUDA_SUCCESS {
		return fmt.Sprintf("the NVIDIA driver does not start: %s: %s", words(result), advice(result))
	}
	var version C.int
	if result := C.cuDriverGetVersion(&version); result != C.CUDA_SUCCESS {
		return fmt.Sprintf("the NVIDIA driver does not tell its version: %s", words(result))
	}
	if version < oldest {
		return fmt.Sprintf(
			"the NVIDIA driver is of CUDA %d.%d but must be of %d.%d or newer: install driver 450 or newer",
			version/1000, version%1000/10, oldest/1000, oldest%1000/10)
	}
	return ""
}

func words(result C.CUresult) string {
	var name, text *C.char
	C.cuGetErrorName(result, &name)
	C.cuGetErrorString(result, &text)
	if name == nil || text == nil {
		return fmt.Sprintf("error %d", result)
	}
	return fmt.Sprintf("%s (%s, %d)", C.GoString(text), C.GoString(name), result)
}

func advice(result C.CUresult) string {
	if result == C.CUDA_ERROR_NO_DEVICE {
		return "it shows no GPU to this process: nvidia-smi lists the devices, and CUDA_VISIBLE_DEVICES or a container may hide it"
	}
	return "nvidia-smi shows whether the driver works"
}
