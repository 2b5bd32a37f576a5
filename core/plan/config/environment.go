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

// notOptions lists variables that look like options but are not. Every process reads the first one. The next ones are
// for plugin processes, and a psbench below a plugin process inherits them. The rest give facts that launchers do not
// give.
var notOptions = append([]string{simd.Variable, host.Handshake.MagicCookieKey, host.DirectoryVariable,
	host.CUDADeviceVariable, host.CUDAProductVariable}, option.StartVariables()...)

// doublePrefix is the prefix of variables for the test double of the CUDA driver.
const doublePrefix = option.EnvPrefix + "DOUBLE_"

// readEnv returns the layer of the environment. readEnv ignores variables without a value. readEnv also ignores
// variables that Kubernetes sets for a Service called psbench.
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

// checkEnviron returns an error for variables that psbench would otherwise ignore, and for harmful values.
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

// unknownVariable returns the error for a variable that psbench does not read.
func unknownVariable(name string) error {
	key := strings.ToLower(strings.TrimPrefix(name, option.EnvPrefix))
	if near, ok := option.Of(spelling.Nearest(key, option.Keys())); ok {
		return fmt.Errorf("unknown environment variable %s; did you mean %s?", quote.Word(name), near.Env())
	}
	return fmt.Errorf("unknown environment variable %s: psbench does not read it", quote.Word(name))
}

// threadVariables lists the variables that set the number of threads of Go or of a matrix library. These variables
// affect the core and the processes that inherit them.
var threadVariables = []string{
	"GOMAXPROCS", "OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS",
}

// mostThreads is more than any run can use, but so few that all of them start quickly.
var mostThreads = max(256, 4*runtime.NumCPU())

// checkThreads returns an error if the number of threads is so large that starting them would take minutes. Values that
// are not numbers are ignored by the libraries or have other meanings.
func checkThreads(name, value string) error {
	first, _, _ := strings.Cut(value, ",") // OpenMP accepts one number for each nesting level
	n, err := strconv.ParseUint(strings.TrimSpace(first), 10, 64)
	tooLarge := errors.Is(err, strconv.ErrRange)
	if n <= uint64(mostThreads) && !tooLarge { // #nosec G115 -- a count of cores
		return nil
	}
	return fmt.Errorf("%s is %s but must be at most %d on this machine of %d cores",
		name, quote.Text(value), mostThreads, runtime.NumCPU())
}
