package machine

import (
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/cpu"
)

// Variables of libraries, psbench and schedulers. No other variable is ever recorded.
var (
	prefixes = []string{"OMP_", "OPENBLAS_", "MKL_", "CUDA_", "NCCL_", "SLURM_", "PSBENCH_"}
	names    = []string{"GOMAXPROCS", "GOGC", "GOMEMLIMIT"}
	// secrets are words in the names of secret variables, such as SLURM_JWT; their values are not recorded.
	secrets = []string{"JWT", "TOKEN", "SECRET", "PASSWORD", "KEY"}
)

// longest limits the recorded bytes of a value.
const longest = 1024

// variables returns the variables of an environment that may affect a measurement.
func variables(environ []string) map[string]string {
	found := map[string]string{}
	for _, v := range environ {
		name, value, ok := strings.Cut(v, "=")
		if !ok || !recorded(name) {
			continue
		}
		if len(value) > longest {
			value = value[:longest] + "…"
		}
		found[strings.ToValidUTF8(name, "�")] = strings.ToValidUTF8(value, "�")
	}
	return found
}

func recorded(name string) bool {
	starts := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
	holds := func(secret string) bool { return strings.Contains(strings.ToUpper(name), secret) }
	return (slices.Contains(names, name) || slices.ContainsFunc(prefixes, starts)) &&
		!slices.ContainsFunc(secrets, holds)
}

// kernelsVariable selects the kernels of OpenBLAS when it is loaded.
const kernelsVariable = "OPENBLAS_CORETYPE"

// Kernels returns the variables, as NAME=VALUE, with which processes get the fastest kernels of this machine. Old
// versions of OpenBLAS do not know newer CPUs and fall back to kernels of half the speed where AVX-512 would work.
// Variables that the user has set stay.
func Kernels() []string {
	if _, set := os.LookupEnv(kernelsVariable); set || !cpu.X86.HasAVX512F || !cpu.X86.HasAVX512DQ ||
		!cpu.X86.HasAVX512BW || !cpu.X86.HasAVX512VL {
		return nil
	}
	return []string{kernelsVariable + "=SkylakeX"}
}
