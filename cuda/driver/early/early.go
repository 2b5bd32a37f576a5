//go:build nvidia

// Package early ends a process that cannot use CUDA, with an error message on standard error. Package cu would end
// such a process too, but with a line on standard output, where a plugin must print its address for psbench. Go
// initializes packages in the order of their paths once their dependencies are ready. This package comes before cu
// in the alphabet and depends on less. Only this package starts the driver.
package early

// #cgo LDFLAGS: -lcuda -ldl
// #include "init.h"
import "C"

import (
	"fmt"
	"os"
)

// oldest is the CUDA version of the oldest driver that has every function that psbench calls: 11.0.
const oldest = 11000

// AsksVersion reports that the program should only print its version. The driver is not started then: with many
// devices, that takes a second, and there need not be a driver.
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
	// Every driver has these two functions. Functions that an old driver lacks are looked up only when they are
	// called.
	if result := C.psb_start(); result != C.CUDA_SUCCESS {
		return fmt.Sprintf("the NVIDIA driver does not start: %s: %s", words(result), advice(result))
	}
	var version C.int
	if result := C.cuDriverGetVersion(&version); result != C.CUDA_SUCCESS {
		return fmt.Sprintf("the NVIDIA driver does not report its version: %s", words(result))
	}
	if version < oldest {
		return fmt.Sprintf(
			"the NVIDIA driver supports CUDA %d.%d but must support %d.%d or newer: install driver 450 or newer",
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
