package config

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/knadh/koanf/providers/env/v2"

	"github.com/psbench/psbench/core/plan/config/option"
	"github.com/psbench/psbench/internal/host"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/simd"
	"github.com/psbench/psbench/internal/spelling"
)

// notOptions are variables that begin like options: one that every process reads for
// itself, those for plugin processes, which whoever runs psbench below one has too, and those that
// say what launchers do not.
var notOptions = append([]string{simd.Variable, host.Handshake.MagicCookieKey, host.DirectoryVariable,
	host.CUDADeviceVariable, host.CUDAProductVariable}, option.StartVariables()...)

// doublePrefix begins the variables of the double of CUDA's driver that tests run against.
const doublePrefix = option.EnvPrefix + "DOUBLE_"

// readEnv is the layer of the environment. A variable without a value counts as not set, and one that a Service of
// Kubernetes called psbench has given to the pod is not psbench's.
func readEnv(environ []string) (layer, error) {
	environ = option.WithoutServiceLinks(environ)
	if err := checkEnviron(environ); err != nil {
		return layer{}, err
	}
	provider := env.Provider("", env.Opt{
		Prefix:      option.EnvPrefix,
		EnvironFunc: func() []string { return environ },
		TransformFunc: func(name, value string) (string, any) {
			if value == "" || slices.Contains(notOptions, name) || strings.HasPrefix(name, doublePrefix) {
				return "", nil
			}
			return strings.ToLower(strings.TrimPrefix(name, option.EnvPrefix)), option.Text(value)
		},
	})
	values, err := provider.Read()
	return layer{source: source{sort: fromEnvironment}, values: values}, err
}

// checkEnviron finds the variables that would be passed over in silence, or do harm.
func checkEnviron(environ []string) error {
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		if value == "" {
			continue
		}
		switch {
		case slices.Contains(threadVariables, name):
			if err := checkThreads(name, value); err != nil {
				return err
			}
		case name == host.Handshake.MagicCookieKey && value != host.Handshake.MagicCookieValue:
			return fmt.Errorf(
				"%s is %s, but psbench sets this variable itself, for the processes that it starts: unset it",
				name, quote.String(value))
		case name == host.CUDAProductVariable && value != "cublas" && value != "kernels":
			return fmt.Errorf("%s is %s but must be cublas or kernels", name, quote.String(value))
		case strings.HasPrefix(name, option.EnvPrefix) && (name == option.EnvPrefix || name != strings.ToUpper(name)):
			return unknownVariable(name)
		}
	}
	return nil
}

// unknownVariable is the error of a variable that psbench does not read.
func unknownVariable(name string) error {
	key := strings.ToLower(strings.TrimPrefix(name, option.EnvPrefix))
	if near, ok := option.Of(spelling.Nearest(key, option.Keys())); ok {
		return fmt.Errorf("unknown environment variable %s; did you mean %s?", quote.Word(name), near.Env())
	}
	return fmt.Errorf("unknown environment variable %s: psbench does not read it", quote.Word(name))
}

// threadVariables are those that say how many threads Go or a matrix library starts, in
// the core or in the processes that inherit them.
var threadVariables = []string{
	"GOMAXPROCS", "OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS",
}

// mostThreads is more than any run gains from, and few enough to start at once.
var mostThreads = max(256, 4*runtime.NumCPU())

// checkThreads refuses a count that would keep a run starting threads for minutes. What
// is no count has no effect, or a meaning of its own for the library that reads it.
func checkThreads(name, value string) error {
	first, _, _ := strings.Cut(value, ",") // OpenMP takes a count for each level
	n, err := strconv.ParseUint(strings.TrimSpace(first), 10, 64)
	tooLarge := errors.Is(err, strconv.ErrRange)
	if n <= uint64(mostThreads) && !tooLarge { // #nosec G115 -- a count of cores
		return nil
	}
	return fmt.Errorf("%s is %s but must be at most %d on this machine of %d cores",
		name, quote.Text(value), mostThreads, runtime.NumCPU())
}
