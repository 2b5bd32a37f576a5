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

// notOptions are variables that look like options but are not. Every process reads the first one. Others are for
// plugin processes, and a psbench run below a plugin process inherits them. The rest supply what launchers do not
// say.
var notOptions = append([]string{simd.Variable, host.Handshake.MagicCookieKey, host.DirectoryVariable,
	host.CUDADeviceVariable, host.CUDAProductVariable}, option.StartVariables()...)

// doublePrefix begins the variables of the CUDA driver's test double.
const doublePrefix = option.EnvPrefix + "DOUBLE_"

// readEnv returns the layer of the environment. It ignores variables without a value, and variables that Kubernetes
// sets for a Service called psbench.
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

// checkEnviron refuses variables that psbench would silently ignore, or that do harm.
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

// unknownVariable is the error for a variable that psbench does not read.
func unknownVariable(name string) error {
	key := strings.ToLower(strings.TrimPrefix(name, option.EnvPrefix))
	if near, ok := option.Of(spelling.Nearest(key, option.Keys())); ok {
		return fmt.Errorf("unknown environment variable %s; did you mean %s?", quote.Word(name), near.Env())
	}
	return fmt.Errorf("unknown environment variable %s: psbench does not read it", quote.Word(name))
}

// threadVariables set the number of threads of Go or of a matrix library, in the core or in processes that inherit
// them.
var threadVariables = []string{
	"GOMAXPROCS", "OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS",
}

// mostThreads is more than any run can use, and few enough to start at once.
var mostThreads = max(256, 4*runtime.NumCPU())

// checkThreads refuses a count with which a run would start threads for minutes. Values that are no counts have no
// effect or a meaning of their own.
func checkThreads(name, value string) error {
	first, _, _ := strings.Cut(value, ",") // OpenMP accepts a count for each level
	n, err := strconv.ParseUint(strings.TrimSpace(first), 10, 64)
	tooLarge := errors.Is(err, strconv.ErrRange)
	if n <= uint64(mostThreads) && !tooLarge { // #nosec G115 -- a count of cores
		return nil
	}
	return fmt.Errorf("%s is %s but must be at most %d on this machine of %d cores",
		name, quote.Text(value), mostThreads, runtime.NumCPU())
}
