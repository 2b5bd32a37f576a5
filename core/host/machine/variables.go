package machine

import (
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/cpu"
)

// What libraries, psbench and schedulers read; no other variable is ever recorded.
var (
	prefixes = []string{"OMP_", "OPENBLAS_", "MKL_", "CUDA_", "NCCL_", "SLURM_", "PSBENCH_"}
	names    = []string{"GOMAXPROCS", "GOGC", "GOMEMLIMIT"}
	// secrets are words in names of variables that nobody else may read, as of SLURM_JWT.
	secrets = []string{"JWT", "TOKEN", "SECRET", "PASSWORD", "KEY"}
)

// longest is how much of a value is recorded, in bytes.
const longest = 1024

// variables are those of an environment that a measurement may depend on.
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

// kernelsVariable is what OpenBLAS takes its kernels from as it is loaded.
const kernelsVariable = "OPENBLAS_CORETYPE"

// Kernels are variables, as NAME=VALUE, that processes of this machine need for the fastest kernels that it can run:
// older versions of OpenBLAS do not know newer CPUs, and fall back to kernels of half the speed where AVX-512 ones
// would run. What the user has set stays.
func Kernels() []string {
	if _, set := os.LookupEnv(kernelsVariable); set || !cpu.X86.HasAVX512F || !cpu.X86.HasAVX512DQ ||
		!cpu.X86.HasAVX512BW || !cpu.X86.HasAVX512VL {
		return nil
	}
	return []string{kernelsVariable + "=SkylakeX"}
}
