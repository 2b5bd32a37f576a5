package machine

import (
	"os"

	"golang.org/x/sys/cpu"
)

// kernelsVariable is what OpenBLAS takes its kernels from as it is loaded.
const kernelsVariable = "OPENBLAS_CORETYPE"

// Kernels are variables, as NAME=VALUE, that processes of this machine need for the fastest kernels that it can run:
// older versions of OpenBLAS do not know newer CPUs, and fall back to kernels of half the speed where AVX-512 ones
// would run. What the user has set stays.
func Kernels() []string {
	if _, set := os.LookupEnv(kernelsVariable); set || !cpu.X86.HasAVX512F || !cpu.X86.HasAVX512DQ || !cpu.X86.HasAVX512BW || !cpu.X86.HasAVX512VL {
		return nil
	}
	return []string{kernelsVariable + "=SkylakeX"}
}
