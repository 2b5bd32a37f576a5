package machine

import (
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/cpu"
)

// These are the recorded variables of libraries, psbench and schedulers. No other variables are ever recorded.
var (
	prefixes = []string{"OMP_", "OPENBLAS_", "MKL_", "CUDA_", "NCCL_", "SLURM_", "PSBENCH_"}
	names    = []string{"GOMAXPROCS", "GOGC", "GOMEMLIMIT"}
	// secrets lists words in the names of variables that contain secrets, such as SLURM_JWT. Values of variables with
	// such names are not recorded.
	secrets = []string{"JWT", "TOKEN", "SECRET", "PASSWORD", "KEY"}
)

// longest limits how many bytes of a value are recorded.
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

// kernelsVariable selects the kernels of OpenBLAS when this library is loaded.
const kernelsVariable = "OPENBLAS_CORETYPE"

// Kernels returns variables, as NAME=VALUE, that make libraries use the fastest kernels of this machine. Old versions
// of OpenBLAS do not know newer CPUs. Such versions choose kernels with half the speed even if the CPU supports
// AVX-512. Kernels does not override variables that the user has set.
func Kernels() []string {
	if _, set := os.LookupEnv(kernelsVariable); set || !cpu.X86.HasAVX512F || !cpu.X86.HasAVX512DQ ||
		!cpu.X86.HasAVX512BW || !cpu.X86.HasAVX512VL {
		return nil
	}
	return []string{kernelsVariable + "=SkylakeX"}
}
